package sandbox

import (
	"context"
	"os"
	"sync"

	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Runtime loads reward modules. It is safe for concurrent use.
type Runtime struct {
	config  Config
	backend backend
	mu      sync.Mutex
	modules map[*Module]struct{}
}

// New returns a runtime. It is slow to preempt guests. A program in which other
// work must continue within milliseconds while every CPU runs a guest should
// first call cpus.Spare of internal/base/cpus, or set fewer Workers than CPUs.
// The error is a *fault.Error: the configuration is invalid, others can write
// to the cache folder, or a worker process cannot be started.
func New(ctx context.Context, cfg Config) (*Runtime, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if IsWorker(os.Args) {
		return nil, errWorker // each worker would start another one, endlessly
	}
	if cfg.Workers == 0 {
		cfg.Workers = cpus.Count()
	}
	b, err := newBackend(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Runtime{config: cfg, backend: b, modules: map[*Module]struct{}{}}, nil
}

// Config returns the configuration in force.
func (r *Runtime) Config() Config { return r.config }

// Wall returns the measures that restrict the worker processes of isolation:
// process on this system, and the measures that this system lacks.
func (r *Runtime) Wall() (inForce, missing []string) { return r.backend.Wall() }

// LoadFile loads the reward at path, under its file name without extension: a
// module, a script, or a folder with a script called reward. If a script has
// several rewards, path may name one, as in ParseReference.
func (r *Runtime) LoadFile(ctx context.Context, path string) (*Module, error) {
	ref, err := ParseReference(path)
	if err != nil {
		return nil, err
	}
	return r.LoadReference(ctx, ref)
}

// Load checks, meters and compiles a module, and runs it on a built-in
// conversation. name is used if the module's manifest has no name. If the
// module must not run, the error is a *fault.Error that lists all problems.
func (r *Runtime) Load(ctx context.Context, name string, wasm []byte) (*Module, error) {
	return r.load(ctx, source.Module(name, wasm))
}

func (r *Runtime) load(ctx context.Context, s source.Source) (*Module, error) {
	g, err := r.backend.Load(ctx, s)
	if err != nil {
		return nil, err
	}
	m := &Module{runtime: r, guest: g, info: g.Info()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules[m] = struct{}{}
	return m, nil
}

// Precompile compiles an interpreter in a folder into the cache, as the first
// script would.
func (r *Runtime) Precompile(ctx context.Context, i interpreter.Interpreter, folder string) error {
	o := r.config.options()
	o.InterpreterDir = folder
	b, err := local.New(o, languages(folder))
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Precompile(ctx, i)
}

// Close frees every module. No evaluation may be running.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	modules := r.modules
	r.modules = map[*Module]struct{}{}
	r.mu.Unlock()
	for m := range modules {
		m.guest.Close(ctx)
	}
	r.backend.Close()
	return nil
}
