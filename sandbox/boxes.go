package sandbox

import (
	"cmp"
	"context"
	"errors"
	"strings"

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
// c.InterpreterDir alone. The error is a *fault.Error; of kind Missing over an
// *interpreter.Missing if the userland or Merit's own CPython is not installed.
func (c Config) OpenBoxes(ctx context.Context) (box.Maker, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	fail := func(kind fault.Kind, where, what, hint string, err error) (box.Maker, error) {
		return nil, &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: where, What: what, Hint: hint, Err: err}
	}
	folder := cmp.Or(c.InterpreterDir, interpreter.Folder())
	if absent := notInstalled(folder); len(absent) > 0 {
		var titles []string
		for _, i := range absent {
			titles = append(titles, i.Title)
		}
		return fail(fault.Missing, folder, "machines without a container need "+strings.Join(titles, " and "),
			"take the files of a release of Merit", &interpreter.Missing{Interpreter: absent[0], Err: errNotInstalled})
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

var errNotInstalled = errors.New("not installed")

// notInstalled lists what machines need and a folder of interpreters lacks.
func notInstalled(folder string) (absent []interpreter.Interpreter) {
	for _, i := range interpreter.Python().Files() {
		if !i.Installed(folder) {
			absent = append(absent, i)
		}
	}
	return absent
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
