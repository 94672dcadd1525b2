package sandbox

import (
	"cmp"
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/sandbox/internal/boxes"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/machine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// machineCache is how many bytes of compiled modules the cache of machines keeps at least.
const machineCache = 1 << 30

// OpenMachines loads the userland, whose boxes are machines without a container: a file
// system in memory, a POSIX shell, the core utilities and Python. Nothing in them reaches the
// network or the host. What a command does is a function of the state of its box.
//
// The error is a *fault.Error; of kind Missing if the userland or CPython is not installed.
func (c Config) OpenMachines(ctx context.Context) (box.Maker, error) {
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
	e, err := engine.New(engine.Options{CacheDir: c.CacheDir, CacheBytes: max(int64(c.CacheMiB)<<20, machineCache), Interpreter: c.Interpreter, Imports: engine.MachineImports()})
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: "sandbox.cache_dir", Err: err,
			What: "the folder for compiled modules cannot be trusted", Hint: "use a folder that only you can write to",
		}
	}
	u, err := machine.Load(ctx, e, folder, machine.DefaultLimits())
	if err != nil {
		e.Close()
		if fault.As(err) != nil {
			return nil, err
		}
		return nil, &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: folder, What: "the userland does not start", Err: err, Hint: "install it again"}
	}
	return &boxes.Maker{Userland: u, Release: e.Close}, nil
}
