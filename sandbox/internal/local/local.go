// Package local runs reward modules in this process: it takes them through the
// gate, the meter and the compiler, keeps a pool of instances for each, starts
// and warms them up once, and evaluates from the state that this has left.
package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
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

// Isolation says what an evaluation may see of those before it.
type Isolation string

// The isolation modes, as those of package sandbox.
const (
	Snapshot Isolation = "snapshot"
	Fresh    Isolation = "fresh"
	Shared   Isolation = "shared"
)

// Options configure a Backend; its fields are those of sandbox.Config.
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

// warn says that the cache is of no use.
func (o Options) warn(err error) {
	if o.Logger != nil {
		o.Logger.Warn("compiled modules are not kept: the cache cannot be used", "folder", o.CacheDir, "error", err)
	}
}

// Notice is the level of log records that are news for whoever waits, and no
// warning: a log that is kept at Warn leaves them out.
const Notice = slog.LevelInfo + 2

// A module of at least large bytes takes seconds to compile; a smaller one does
// on a slow or busy machine, which is logged after slow.
const (
	large = 2 << 20
	slow  = 1500 * time.Millisecond
)

// after is time.AfterFunc; tests decide themselves what is slow.
var after = func(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

// compiling logs what the user waits for, as a Notice, which kept logs leave out.
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

func (o Options) logCompiling(title string, bytes int) {
	kept := "the result is not kept, for want of a cache folder, so every start takes as long"
	if o.CacheDir != "" {
		kept = "the result is kept in " + o.CacheDir + ", so the next start is quick"
	}
	text := fmt.Sprintf("compiling %s (%.1f MiB), which takes a while; %s", cmp.Or(title, "a module"), float64(bytes)/(1<<20), kept)
	o.Logger.Log(context.Background(), Notice, text)
}

// cacheBytes is what the cache folder may still take where the interpreters lie
// in it.
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
	detached  bool // it can load nothing from the disk any more
	languages source.Languages
	nested    map[string]*nested
	theirs    []engine.Import // what only interpreters may import
	tokens    chan struct{}   // one for every evaluation that runs
}

// New returns a backend. A cache folder that cannot be written is gone without,
// and the logger is told. The error is a *fault.Error: the folder cannot be
// trusted.
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
			What: "the folder for compiled modules cannot be trusted", Hint: "choose a folder that only you can write to",
		}
	}
	return b, nil
}

// Close ends the backend; its modules must be closed before.
func (b *Backend) Close() {
	for _, n := range b.nested {
		if m := n.module.Load(); m != nil {
			m.Close(context.Background())
		}
	}
	b.engine.Close()
}

// Load takes a reward through the gate, the meter and the compiler, and runs
// it on a built-in conversation. The error is a *fault.Error that lists every
// problem.
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
