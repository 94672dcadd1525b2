package sandbox

import (
	"context"

	"github.com/merit-rl/merit/core/fault"
	wire "github.com/merit-rl/merit/internal/wire/machine"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/machine"
)

// OpenMachines starts the shell and the Python of machines, which run in this process: file
// systems in memory, on which commands run. It uses c.CacheDir and c.InterpreterDir alone. The
// error is a *fault.Error.
func (c Config) OpenMachines(ctx context.Context, l wire.Limits) (wire.Machines, error) {
	fail := func(kind fault.Kind, what, hint string, err error) error {
		return &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: "machines", What: what, Hint: hint, Err: err}
	}
	o := c.options()
	e, err := engine.New(engine.Options{CacheDir: o.CacheDir, CacheBytes: int64(o.CacheMiB) << 20, Imports: engine.MachineImports()})
	if err != nil {
		return nil, fail(fault.Invalid, "the folder for compiled modules cannot be trusted", "use a folder that only you can write to", err)
	}
	u, err := machine.Load(ctx, e, o.InterpreterDir, l)
	if err != nil {
		e.Close()
		if fault.As(err) != nil {
			return nil, err
		}
		return nil, fail(fault.Internal, "the shell of machines cannot be started", "report it", err)
	}
	return opened{u, e}, nil
}

// opened frees its engine last.
type opened struct {
	*machine.Userland
	engine *engine.Engine
}

// Close implements wire.Machines.
func (o opened) Close() {
	o.Userland.Close()
	o.engine.Close()
}
