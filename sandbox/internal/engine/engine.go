package engine

import (
	"context"
	"sync/atomic"

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
	options   Options
	cache     *cache
	watch     *watchdog
	preloaded map[string]*Program
	// mapped is the address space of memories that are mapped, mostMapped what
	// it may come to; 0 means any.
	mapped     atomic.Int64
	mostMapped int64
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

// Close ends the engine's goroutine and frees what was preloaded. Programs are
// closed on their own.
func (e *Engine) Close() {
	for _, p := range e.preloaded {
		p.Close(context.Background())
	}
	e.watch.close()
}

// Preload compiles a module for every Compile of it to come. It is not safe for
// concurrent use.
func (e *Engine) Preload(ctx context.Context, m Module, o fuel.Options) error {
	p, err := e.Compile(ctx, m, o, func(*fuel.Info) error { return nil })
	if err != nil {
		return err
	}
	if e.preloaded == nil {
		e.preloaded = map[string]*Program{}
	}
	e.preloaded[programKey(m.Digest, o)] = p
	return nil
}

// Detach readies the engine for a process that soon can open nothing and may
// not map more than some bytes: what memories need of the system is open, the
// cache is let go of, and memories beyond that are copied.
func (e *Engine) Detach(mostMapped int64) {
	e.newLinear(pageBytes).Free()
	e.cache, e.mostMapped = nil, mostMapped
}
