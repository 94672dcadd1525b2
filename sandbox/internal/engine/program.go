package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Program is a compiled module, ready to be instantiated.
type Program struct {
	engine   *Engine
	key      string
	meta     *fuel.Instrumented // without its bytes
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	codes    *codes // where cache keeps the native code; nil without a cache
	compiled wazero.CompiledModule
	segments []fuel.Segment // what a skeleton lacks of the memory of instances
	unlay    func()         // frees them; nil without any
	shared   bool           // shared with the preloaded program, which frees it
	// Cached means that the native code came from the disk.
	Cached bool
	// Process is the process environment of every instance.
	Process Process
}

// Module is the input of Compile: WebAssembly that is read only if it is not
// cached.
type Module struct {
	Title  string // for people
	Digest string // SHA-256 in hex
	Read   func() ([]byte, error)
	// Valid means that Merit pins the digest of what Read returns, and that a test has
	// validated it.
	Valid bool
}

// Bytes returns a module in memory.
func Bytes(wasm []byte) Module {
	return Module{Digest: fmt.Sprintf("%x", sha256.Sum256(wasm)), Read: func() ([]byte, error) { return wasm, nil }}
}

// ErrInvalid means that a module is not valid WebAssembly 2.0.
var ErrInvalid = errors.New("not valid WebAssembly 2.0")

// Compile passes a module through gate, meter, validation and compiler. If the
// program is cached, it has already passed all but the last. check examines the
// gate's findings before expensive work begins. The error is a *fuel.Refused,
// ErrInvalid, the compiler's, or what Read or check returned. A program has its
// own wazero runtime, so closing it frees everything.
func (e *Engine) Compile(ctx context.Context, m Module, o fuel.Options, check func(*fuel.Info) error) (*Program, error) {
	if shared, ok := e.preloaded[programKey(m.Digest, o)]; ok {
		p := *shared
		p.shared = true
		return &p, check(p.meta.Info)
	}
	p := &Program{engine: e, key: programKey(m.Digest, o)}
	if e.cache != nil {
		if known, err := p.recall(ctx, o, check); known || err != nil {
			return p, err
		}
	}
	wasm, err := m.Read()
	if err != nil {
		return nil, err
	}
	if e.options.Compiling != nil {
		defer e.options.Compiling(m.Title, len(wasm))()
	}
	meta, err := fuel.Instrument(wasm, o)
	if err != nil {
		return nil, err
	}
	if err := check(meta.Info); err != nil {
		return nil, err
	}
	if !m.Valid {
		if err := Validate(ctx, wasm); err != nil {
			return nil, err
		}
	}
	p.meta = meta
	if err := p.build(ctx); err != nil {
		p.Close(ctx)
		return nil, err
	}
	meta.Wasm = nil
	return p, nil
}

// build compiles the output of the meter, and caches it if there is a cache.
func (p *Program) build(ctx context.Context) error {
	var unkept error
	if p.engine.cache != nil {
		unkept = p.buildInto(ctx)
	}
	if p.compiled == nil {
		// Without a folder: wazero does not report whether the module or the
		// disk was the problem.
		p.Close(ctx)
		if err := p.open(ctx, p.meta.Wasm, ""); err != nil {
			return err
		}
	}
	p.engine.uncached(unkept)
	return link(ctx, p.runtime, p.engine.options.Imports, p.meta.Info)
}

// buildInto compiles into a folder and caches that. After an error the program
// may nevertheless be compiled.
func (p *Program) buildInto(ctx context.Context) error {
	dir, err := p.engine.cache.Scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := p.open(ctx, p.meta.Wasm, dir); err != nil {
		return err
	}
	if err := p.file(ctx, dir); err != nil {
		return err
	}
	return p.engine.cache.Put(p.key, dir)
}

// open compiles a module in its own runtime. If dir is not empty, it is
// the folder of its native code.
func (p *Program) open(ctx context.Context, wasm []byte, dir string) (err error) {
	c := wazero.NewRuntimeConfigInterpreter()
	if !p.engine.options.Interpreter {
		c = wazero.NewRuntimeConfig()
	}
	if dir != "" {
		p.codes = &codes{dir: dir}
		if p.cache, err = p.codes.cache(); err != nil {
			return err
		}
		c = c.WithCompilationCache(p.cache)
	}
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config(c))
	p.compiled, err = p.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, cpus.Count()), wasm)
	return err
}

// Validate checks the original module without running or compiling it, because
// the metered form of an invalid module may be valid. The error is ErrInvalid.
func Validate(ctx context.Context, wasm []byte) error {
	r := wazero.NewRuntimeWithConfig(ctx, config(wazero.NewRuntimeConfigInterpreter()))
	defer r.Close(ctx)
	if _, err := r.CompileModule(ctx, wasm); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

func config(c wazero.RuntimeConfig) wazero.RuntimeConfig {
	return c.WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false).WithCloseOnContextDone(false)
}

// Key identifies the module, the options, and the version of the meter.
func (p *Program) Key() string { return p.key }

// Info returns what the gate found.
func (p *Program) Info() *fuel.Info { return p.meta.Info }

// Close frees the program; its instances must be closed first.
func (p *Program) Close(ctx context.Context) {
	if p.shared {
		return
	}
	if p.runtime != nil {
		_ = p.runtime.Close(ctx)
	}
	if p.cache != nil {
		_ = p.cache.Close(ctx)
	}
	if p.unlay != nil {
		p.unlay()
	}
	p.runtime, p.cache, p.compiled, p.segments, p.unlay = nil, nil, nil, nil, nil
}
