package sandbox

import (
	"cmp"
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/wire/machine"
	"github.com/merit-rl/merit/sandbox/internal/boxes"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// boxCacheMiB is how much of compiled modules the cache of boxes keeps at least.
const boxCacheMiB = 1 << 10

// OpenBoxes is OpenMachines for features that run on containers too: its boxes are machines.
// The error is a *fault.Error; of kind Missing if the userland is not installed.
func (c Config) OpenBoxes(ctx context.Context) (box.Maker, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	folder := cmp.Or(c.InterpreterDir, interpreter.Folder())
	if u := interpreter.Python().In(folder).Userland(); !u.Installed(folder) {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Missing, Where: u.Path(folder),
			What: "the userland, which machines without a container run, is not installed", Hint: "install an archive or a wheel of Merit, or run make interpreter in a checkout",
		}
	}
	c.CacheMiB = max(c.CacheMiB, boxCacheMiB)
	m, err := c.OpenMachines(ctx, machine.Limits{})
	if err != nil {
		return nil, err
	}
	return boxes.Maker{Machines: m}, nil
}
