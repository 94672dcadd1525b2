package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/merit-rl/merit/sandbox/fuel"
)

// Options configure an Engine.
type Options struct {
	CacheDir    string // empty: no cache on disk
	CacheBytes  int64
	Interpreter bool
	// Imports are the host functions beside those of WASI and env.abort.
	Imports []Import
}

// Engine compiles modules. It is safe for concurrent use.
type Engine struct {
	options Options
	cache   *cache
	watch   *watchdog
}

// New returns an engine. The error says why the cache cannot be used.
func New(o Options) (*Engine, error) {
	e := &Engine{options: o, watch: newWatchdog()}
	e.options.Imports = append(append([]Import{}, wasiImports()...), o.Imports...)
	if o.CacheDir != "" && !o.Interpreter {
		c, err := openCache(o.CacheDir, o.CacheBytes)
		if err != nil {
			return nil, err
		}
		e.cache = c
	}
	return e, nil
}

// Close ends the engine's goroutine. Programs are closed on their own.
func (e *Engine) Close() { e.watch.close() }

// ErrInvalid says that a module is not valid WebAssembly 2.0.
var ErrInvalid = errors.New("not valid WebAssembly 2.0")

// validate checks the original of a module without running or compiling it:
// the metered form of an invalid module may be valid.
func validate(ctx context.Context, wasm []byte) error {
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

// Program is a compiled module, ready to be instantiated.
type Program struct {
	engine   *Engine
	meta     *fuel.Instrumented
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	// Cached says that the native code came from the disk.
	Cached bool
	// Process is what every instance finds around it.
	Process Process
}

// Compile validates the original of a module and compiles its metered form;
// both are known to have been done where the cache has the pair. A program has
// a wazero runtime of its own, so closing it frees everything.
func (e *Engine) Compile(ctx context.Context, original []byte, meta *fuel.Instrumented) (*Program, error) {
	p := &Program{engine: e, meta: meta}
	build := func(dir string, known bool) (err error) {
		p.Close(ctx)
		if !known {
			if err := validate(ctx, original); err != nil {
				return err
			}
		}
		if p.cache, err = diskCache(dir); err != nil {
			return err
		}
		c := wazero.NewRuntimeConfigInterpreter()
		if !e.options.Interpreter {
			c = wazero.NewRuntimeConfig()
			if p.cache != nil {
				c = c.WithCompilationCache(p.cache)
			}
		}
		p.runtime = wazero.NewRuntimeWithConfig(ctx, config(c))
		p.compiled, err = p.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), meta.Wasm)
		return err
	}
	var err error
	if e.cache == nil {
		err = build("", false)
	} else {
		p.Cached, err = e.cache.use(pairDigest(original, meta.Wasm), build)
	}
	if err == nil {
		err = link(ctx, p.runtime, e.options.Imports, meta.Info)
	}
	if err != nil {
		p.Close(ctx)
		return nil, err
	}
	return p, nil
}

func pairDigest(original, metered []byte) string {
	one, two := sha256.Sum256(original), sha256.Sum256(metered)
	return fmt.Sprintf("%x", sha256.Sum256(append(one[:], two[:]...)))
}

func diskCache(dir string) (wazero.CompilationCache, error) {
	if dir == "" {
		return nil, nil
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// Close frees the program; its instances must be closed before.
func (p *Program) Close(ctx context.Context) {
	if p.runtime != nil {
		_ = p.runtime.Close(ctx)
	}
	if p.cache != nil {
		_ = p.cache.Close(ctx)
	}
	p.runtime, p.cache, p.compiled = nil, nil, nil
}
