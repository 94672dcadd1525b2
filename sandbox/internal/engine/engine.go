package engine

import (
	"context"
	"errors"
	"math"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/merit-rl/merit/sandbox/internal/engine/cache"
	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Options configure an Engine.
type Options struct {
	CacheDir    string // empty: no cache on disk
	CacheBytes  int64
	Interpreter bool
	// Warn, if set, is called once with the reason why the cache cannot be
	// used.
	Warn func(error)
	// Compiling, if set, is called before a module is compiled that is not in
	// the cache; done is called afterwards.
	Compiling func(title string, bytes int) (done func())
	// Imports are the host functions in addition to those of WASI and
	// env.abort.
	Imports []Import
}

// Engine compiles modules. It is safe for concurrent use.
type Engine struct {
	options   Options
	cache     *cache.Cache
	warned    sync.Once
	watch     *watchdog
	preloaded map[string]*Program
	space     memory.Space
}

// New returns an engine. If the cache cannot be opened, the engine works
// without it. The error cache.ErrUntrusted means that others could have written
// to the cache.
func New(o Options) (*Engine, error) {
	liftCeiling()
	e := &Engine{options: o, watch: newWatchdog()}
	e.options.Imports = append(append([]Import{}, systemImports()...), o.Imports...)
	if o.CacheDir != "" && !o.Interpreter {
		c, err := cache.Open(o.CacheDir, o.CacheBytes)
		switch {
		case errors.Is(err, cache.ErrUntrusted):
			e.watch.close()
			return nil, err
		case err != nil:
			e.uncached(err)
		default:
			e.cache = c
		}
	}
	return e, nil
}

// uncached logs why the cache cannot be used, which only costs time.
func (e *Engine) uncached(err error) {
	if err != nil && e.options.Warn != nil {
		e.warned.Do(func() { e.options.Warn(err) })
	}
}

// Close stops the engine's goroutine and frees preloaded programs. Other
// programs are closed separately.
func (e *Engine) Close() {
	for _, p := range e.preloaded {
		p.Close(context.Background())
	}
	e.watch.close()
}

// Preload compiles a module for all later calls of Compile with it. It is not
// safe for concurrent use.
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

// Detach prepares the engine for a process that soon cannot open files and may
// map only mostMapped bytes. It opens what memories need from the system and
// drops the cache. Memories beyond the limit are copied.
func (e *Engine) Detach(mostMapped int64) {
	e.space.New(memory.PageBytes).Free()
	e.cache, e.space.Most = nil, mostMapped
}

// Keep caches content, whose pieces follow each other, under a name, for Recall by the same
// build of the program: a state also contains what host functions gave to a guest.
func (e *Engine) Keep(name string, pieces ...[]byte) {
	if e.cache != nil {
		e.uncached(e.cache.Keep(name, pieces...))
	}
}

// Recall calls use with the content that was cached under a name, if there is any. The
// content is valid until use returns.
func (e *Engine) Recall(name string, use func(content []byte)) {
	if e.cache != nil {
		e.cache.Recall(name, use)
	}
}

// callStackCeiling is how many nested calls wazero's interpreter allows: 2,000
// unless it is changed, for which there is no other way. Compiled code has no
// such limit, so the same reward could end in two ways; depth limits both.
//
//go:linkname callStackCeiling github.com/tetratelabs/wazero/internal/engine/interpreter.callStackCeiling
var callStackCeiling int

// liftCeiling leaves the limit of nested calls to the depth that the meter
// counts.
var liftCeiling = sync.OnceFunc(func() { callStackCeiling = math.MaxInt })
