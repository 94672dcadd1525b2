package engine

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
