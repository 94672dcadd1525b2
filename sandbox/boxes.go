package sandbox

import (
	"cmp"
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/machine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// boxCacheMiB is how much of compiled modules the cache of boxes keeps at least.
const boxCacheMiB = 1 << 10

// OpenBoxes starts the shell and the Python of machines without a container, which run in this
// process: file systems in memory, on which commands run. It uses c.CacheDir and
// c.InterpreterDir alone. The error is a *fault.Error; of kind Missing if the userland is not
// installed.
func (c Config) OpenBoxes(ctx context.Context) (box.Maker, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	fail := func(kind fault.Kind, where, what, hint string, err error) (box.Maker, error) {
		return nil, &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: where, What: what, Hint: hint, Err: err}
	}
	folder := cmp.Or(c.InterpreterDir, interpreter.Folder())
	if u := interpreter.Python().In(folder).Userland(); !u.Installed(folder) {
		return fail(fault.Missing, u.Path(folder), "the userland, which machines without a container run, is not installed",
			"install an archive or a wheel of Merit, or run make interpreter in a checkout", nil)
	}
	o := c.options()
	e, err := engine.New(engine.Options{CacheDir: o.CacheDir, CacheBytes: int64(max(o.CacheMiB, boxCacheMiB)) << 20, Imports: engine.MachineImports()})
	if err != nil {
		return fail(fault.Invalid, "machines", "the folder for compiled modules cannot be trusted", "use a folder that only you can write to", err)
	}
	u, err := machine.Load(ctx, e, o.InterpreterDir, machine.Limits{})
	if err == nil {
		return opened{u, e}, nil
	}
	e.Close()
	if fault.As(err) != nil {
		return nil, err
	}
	return fail(fault.Internal, "machines", "the shell of machines cannot be started", "report it", err)
}

// opened frees its engine last.
type opened struct {
	*machine.Userland
	engine *engine.Engine
}

// Close implements box.Maker.
func (o opened) Close() {
	o.Userland.Close()
	o.engine.Close()
}
