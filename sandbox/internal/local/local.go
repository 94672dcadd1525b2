// Package local runs reward modules in this process. It checks, meters and compiles
// them, keeps a pool of instances for each, starts and warms them up once, and
// evaluates from the state after that.
package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/engine/cache"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// Isolation is what an evaluation may see of earlier evaluations.
type Isolation string

// The isolation modes, as those of package sandbox.
const (
	Snapshot Isolation = "snapshot"
	Fresh    Isolation = "fresh"
	Shared   Isolation = "shared"
)

// Options configure a Backend. The fields are the same as in sandbox.Config.
type Options struct {
	limits.Limits
	Isolation      Isolation
	Workers        int
	CacheDir       string
	CacheMiB       int
	InterpreterDir string
	Interpreter    bool
	Alone          bool
	Logger         *slog.Logger `json:"-"` // of this process
}

// warn logs that the cache cannot be used.
func (o Options) warn(err error) {
	if o.Logger != nil {
		o.Logger.Warn("compiled modules are not cached: the cache folder cannot be used", "folder", o.CacheDir, "error", err)
	}
}

// Notice is the level of log records about work that a user may be waiting for. It is
// not a warning; a log at the level Warn omits them.
const Notice = slog.LevelInfo + 2

// A module of at least large bytes takes seconds to compile. A smaller one may do so
// on a slow or busy machine, which is logged after slow.
const (
	large = 2 << 20
	slow  = 1500 * time.Millisecond
)

// after is time.AfterFunc; tests replace it to decide what is slow.
var after = func(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

// compiling logs, as a Notice, that the user waits for a compilation.
func (o Options) compiling(title string, bytes int) (done func()) {
	switch {
	case o.Logger == nil:
		return func() {}
	case bytes >= large:
		o.logCompiling(title, bytes)
		return func() {}
	}
	stop := after(slow, func() { o.logCompiling(title, bytes) })
	return func() { stop() }
}

// secondsPerMiB is the CPU time of the compiler: 9.6 s for CPython.
const secondsPerMiB = 0.6

func (o Options) logCompiling(title string, bytes int) {
	size := float64(bytes) / (1 << 20)
	often, kept := "for each start", "not cached, because the cache is off"
	if o.CacheDir != "" {
		often, kept = "for this machine, once", "cached in "+o.CacheDir
	}
	text := fmt.Sprintf("compiling %s (%.1f MiB) %s: about %.0f s of CPU time; the result is %s",
		cmp.Or(title, "a module"), size, often, math.Ceil(size*secondsPerMiB), kept)
	o.Logger.Log(context.Background(), Notice, text)
}

// cacheBytes returns the limit of the cache folder, less the interpreters that
// are in it.
func (o Options) cacheBytes() int64 {
	most := int64(o.CacheMiB) << 20
	if rel, err := filepath.Rel(o.CacheDir, o.InterpreterDir); err == nil && filepath.IsLocal(rel) {
		most -= cache.Size(o.InterpreterDir)
	}
	return max(most, 0)
}

// Backend runs modules in this process. It is safe for concurrent use.
type Backend struct {
	options   Options
	engine    *engine.Engine
	detached  bool // it can no longer load from disk
	languages source.Languages
	nested    map[string]*nested
	theirs    []engine.Import // imports that only interpreters may use
	tokens    chan struct{}   // one for each running evaluation
	boots     boots
}

// New returns a backend. If the cache folder cannot be written, New logs that and
// continues without it. The error is a *fault.Error: the folder cannot be trusted.
func New(o Options, languages source.Languages) (*Backend, error) {
	b := &Backend{
		options: o, languages: languages, nested: nestedIn(languages), theirs: languages.Imports(), tokens: make(chan struct{}, o.Workers),
	}
	var err error
	b.engine, err = engine.New(engine.Options{
		CacheDir: o.CacheDir, CacheBytes: o.cacheBytes(), Interpreter: o.Interpreter, Warn: o.warn, Compiling: o.compiling,
		Imports: append(result.Imports(), b.theirs...),
	})
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: "sandbox.cache_dir", Err: err,
			What: "the folder for compiled modules cannot be trusted", Hint: "use a folder that only you can write to",
		}
	}
	return b, nil
}

// Close closes the backend; its modules must be closed first.
func (b *Backend) Close() {
	for _, n := range b.nested {
		if m := n.module.Load(); m != nil {
			m.Close(context.Background())
		}
	}
	b.boots.close()
	b.engine.Close()
}

// Engine returns the engine that runs the modules of the backend.
func (b *Backend) Engine() *engine.Engine { return b.engine }

// Gate returns the limits of a compiled module.
func (b *Backend) Gate() fuel.Limits { return b.gate(false) }

// Load checks, meters and compiles a reward, and runs it on a built-in
// conversation. The error is a *fault.Error that lists all problems.
func (b *Backend) Load(ctx context.Context, s source.Source) (*Module, error) {
	return b.load(ctx, b.newModule(s))
}

func (b *Backend) load(ctx context.Context, m *Module) (*Module, error) {
	program, err := b.engine.Compile(ctx, m.bytes, fuel.Options{Limits: b.gate(m.script)}, m.examine)
	if err != nil {
		return nil, m.refused(err)
	}
	program.Process = m.process
	m.program = program
	if err := m.try(ctx); err != nil {
		m.Close(ctx)
		return nil, err
	}
	return m, nil
}
