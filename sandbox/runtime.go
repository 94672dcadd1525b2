package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/fuel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

// Runtime loads reward modules. It is safe for concurrent use.
type Runtime struct {
	config  Config
	engine  *engine.Engine
	fleet   *fleet // with isolation: process, in place of engine
	mu      sync.Mutex
	modules map[*Module]struct{}
	tokens  chan struct{} // one for every evaluation that runs
}

// New returns a runtime. The first one raises GOMAXPROCS by one, so that
// guests, which are slow to be preempted, leave the process a processor. The error
// is a *fault.Error: a configuration that is wrong, a cache folder that others
// can write to, or a worker process that cannot be started.
func New(ctx context.Context, cfg Config) (*Runtime, error) {
	if errs := cfg.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if spare := processors(); cfg.Workers == 0 {
		cfg.Workers = spare
	}
	r := &Runtime{config: cfg, modules: map[*Module]struct{}{}, tokens: make(chan struct{}, cfg.Workers)}
	if cfg.Isolation == Process {
		var err error
		r.fleet, err = newFleet(ctx, cfg)
		return r, err
	}
	var err error
	r.engine, err = engine.New(engine.Options{
		CacheDir: cfg.CacheDir, CacheBytes: int64(cfg.CacheMiB) << 20, Interpreter: cfg.Interpreter, Imports: append(meritImports(), quickjsImports()...),
	})
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: "cache_dir", Err: err,
			What: "the folder for compiled modules cannot be trusted", Hint: "choose a folder that only you can write to, or leave cache_dir empty",
		}
	}
	return r, nil
}

// Config returns the configuration in force.
func (r *Runtime) Config() Config { return r.config }

// LoadFile loads the reward at path, under its file name without extension: a
// module, a script, or a folder with a script called reward.
func (r *Runtime) LoadFile(ctx context.Context, path string) (*Module, error) {
	if l := scriptLanguage(path); l != nil {
		return r.loadScript(ctx, l, path)
	}
	var wasm []byte
	f, err := os.Open(path)
	if err == nil {
		wasm, err = readFile(f, int64(r.config.ModuleMiB)<<20)
		_ = f.Close() // it was only read
	}
	if errors.Is(err, errTooLarge) {
		return nil, refusal(path, fmt.Sprintf("it has more than %d bytes", r.config.ModuleMiB<<20), "raise module_mib if you trust it", nil)
	}
	if err != nil {
		kind := fault.Invalid
		if errors.Is(err, os.ErrNotExist) {
			kind = fault.Missing
		}
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: kind, Where: path, What: "the reward module cannot be read", Err: err,
			Hint: "build it with: merit reward build",
		}
	}
	name := filepath.Base(path)
	return r.Load(ctx, strings.TrimSuffix(name, filepath.Ext(name)), wasm)
}

// Load checks, meters and compiles a module, and runs it on a built-in
// conversation. Name is used where the module's manifest has none. A module
// that must not run is refused with a *fault.Error that lists every problem.
func (r *Runtime) Load(ctx context.Context, name string, wasm []byte) (*Module, error) {
	module := engine.Bytes(wasm)
	digest := "sha256:" + module.Digest
	if r.fleet != nil {
		return r.loadRemote(ctx, wire.Module{Name: name, Wasm: wasm}, digest)
	}
	return r.load(ctx, source{name: name, module: module, digest: digest, profile: detect})
}

// source is a module on its way in.
type source struct {
	name    string
	module  engine.Module
	digest  string // of all that decides about results
	profile func(*fuel.Info) (profile, []string)
	process engine.Process
	trusted bool // an interpreter, known by its digest
}

func (r *Runtime) load(ctx context.Context, s source) (*Module, error) {
	name := s.name
	var p profile
	var manifest Manifest
	check := func(info *fuel.Info) (err error) {
		p, manifest, err = r.examine(s, info)
		return err
	}
	program, err := r.engine.Compile(ctx, s.module, fuel.Options{Limits: r.gate(s.trusted)}, check)
	if err != nil {
		return nil, refused(s, err)
	}
	program.Process = s.process
	if manifest.Name != "" {
		name = manifest.Name
	}
	m := &Module{runtime: r, program: program, profile: p, manifest: manifest, info: reward.Info{
		Name: name, Digest: s.digest, ABI: p.name(),
		StepIndexing: manifest.StepIndex, Group: p.group(),
	}}
	m.script = s.trusted
	m.pool = &pool{module: m, tokens: r.tokens}
	if err := m.try(ctx); err != nil {
		m.free(ctx)
		return nil, err
	}
	r.add(m)
	return m, nil
}

// examine says what kind of reward the gate has let in, or every reason why it
// is none.
func (r *Runtime) examine(s source, info *fuel.Info) (profile, Manifest, error) {
	p, problems := s.profile(info)
	problems = append(problems, r.wrongImports(info)...)
	manifest, err := readManifest(info)
	if err != nil {
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		return nil, manifest, refusal(s.name, "the module is not a reward: "+strings.Join(problems, "; "), exportHint, nil)
	}
	return p, manifest, nil
}

// refused says why a module was not compiled.
func refused(s source, err error) error {
	var gate *fuel.Refused
	switch {
	case fault.As(err) != nil:
		return err
	case errors.As(err, &gate):
		wasm, _ := s.module.Read()
		return refusal(s.name, "the module was refused", gateHint(wasm), err)
	case errors.Is(err, engine.ErrInvalid):
		return refusal(s.name, "the module was refused", "build it again; it may be damaged", err)
	}
	return refusal(s.name, "the module cannot be compiled", "report it: a valid module should compile", err)
}

func (r *Runtime) add(m *Module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules[m] = struct{}{}
}

// Close frees every module. No evaluation may be running.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	modules := r.modules
	r.modules = map[*Module]struct{}{}
	r.mu.Unlock()
	for m := range modules {
		m.free(ctx)
	}
	if r.fleet != nil {
		r.fleet.close()
	} else {
		r.engine.Close()
	}
	return nil
}

// gate gives the limits of the gate. Those of an interpreter are its own,
// except for memory.
func (r *Runtime) gate(trusted bool) fuel.Limits {
	l := fuel.DefaultLimits()
	l.MemoryPages = r.config.MemoryMiB << 4
	if trusted {
		l.TableEntries = interpreterTable
	} else {
		l.Bytes, l.TableEntries = r.config.ModuleMiB<<20, r.config.TableEntries
	}
	l.AllowImport = func(i fuel.Import) bool {
		exists, _ := engine.Known(r.engine.Imports(), i)
		return exists && i.Kind == fuel.FuncExtern && (trusted || !strings.HasPrefix(i.Name, "host_"))
	}
	return l
}

// interpreterTable is room for the tables of interpreters: CPython's has
// 11,802 entries.
const interpreterTable = 20_000

// wrongImports lists the imports whose signature is not that of the host.
func (r *Runtime) wrongImports(info *fuel.Info) (problems []string) {
	for _, i := range info.Imports {
		if _, fits := engine.Known(r.engine.Imports(), i); !fits {
			problems = append(problems, fmt.Sprintf("it imports %s.%s as %v, which is not its signature", i.Module, i.Name, i.Func))
		}
	}
	return problems
}

// gateHint says what else the bytes may be.
func gateHint(wasm []byte) string {
	switch {
	case len(wasm) >= 8 && string(wasm[:4]) == "\x00asm" && wasm[4] == 0x0d:
		return "this is a component: build a core module (wasm32-unknown-unknown or wasm32-wasip1), or extract it"
	case len(wasm) < 4 || string(wasm[:4]) != "\x00asm":
		return "this is not a WebAssembly file; build one with: merit reward build"
	}
	return "build without the features named above, or raise the limits named above if you trust the module"
}

func refusal(name, what, hint string, err error) error {
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: escape(name), What: escape(what), Hint: hint, Err: err}
}
