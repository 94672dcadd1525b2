package engine

import (
	"context"
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

// Validate checks a module as WebAssembly 2.0 defines it, without running or
// compiling it. The metered form of an invalid module may be valid, so this is
// asked of the original.
func (e *Engine) Validate(ctx context.Context, wasm []byte) error {
	r := wazero.NewRuntimeWithConfig(ctx, config(wazero.NewRuntimeConfigInterpreter()))
	defer r.Close(ctx)
	_, err := r.CompileModule(ctx, wasm)
	return err
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
}

// Compile compiles a metered module. It has a wazero runtime of its own, so
// closing it frees everything.
func (e *Engine) Compile(ctx context.Context, meta *fuel.Instrumented) (*Program, error) {
	p := &Program{engine: e, meta: meta}
	build := func(dir string) (err error) {
		p.close(ctx)
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
		err = build("")
	} else {
		p.Cached, err = e.cache.use(meta.Wasm, build)
	}
	if err == nil {
		err = link(ctx, p.runtime, e.options.Imports, meta.Info)
	}
	if err != nil {
		p.close(ctx)
		return nil, fmt.Errorf("compile: %w", err)
	}
	return p, nil
}

func diskCache(dir string) (wazero.CompilationCache, error) {
	if dir == "" {
		return nil, nil
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// Close frees the program; its instances must be closed before.
func (p *Program) Close(ctx context.Context) { p.close(ctx) }

func (p *Program) close(ctx context.Context) {
	if p.runtime != nil {
		_ = p.runtime.Close(ctx)
	}
	if p.cache != nil {
		_ = p.cache.Close(ctx)
	}
	p.runtime, p.cache, p.compiled = nil, nil, nil
}
