package remote

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/sandbox/internal/jail"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

const (
	workerCPU    = 8 * time.Hour // CPU time that a process may use in its lifetime
	workerBusy   = time.Hour     // time with work after which a process is replaced; it may use two CPUs
	firstBackOff = 50 * time.Millisecond
	lastBackOff  = 5 * time.Second
)

// Backend runs modules in the worker processes of a runtime. Each serves all
// modules, one evaluation at a time, and is started when needed. A Backend is
// safe for concurrent use.
type Backend struct {
	options  Options
	known    source.Languages
	argument string // by which the program recognizes that it is a worker
	measures jail.Measures
	tokens   chan struct{}

	mu      sync.Mutex
	idle    []*link
	scripts []string            // extensions of the scripts that were loaded; never shrinks
	offered []string            // languages of programs that rewards opened; never shrinks
	modules map[int]wire.Module // the modules that may be loaded
	last    int                 // the last number given to a module
	removed int                 // how many modules were removed
	crashes int                 // consecutive, without a successful evaluation in between
	noted   map[string]bool     // texts of workers' notes that were logged, so that each is logged once
}

// New starts the first worker process, so that it returns an error at once on a
// system or in a program that does not support it. When the program is started
// with argument, it must call Serve with the same languages. The error is a
// *fault.Error.
func New(ctx context.Context, o Options, known source.Languages, argument string) (*Backend, error) {
	b := &Backend{options: o, known: known, argument: argument, tokens: make(chan struct{}, o.Workers), modules: map[int]wire.Module{}, noted: map[string]bool{}}
	// A worker does the same inside as isolation: snapshot does.
	b.options.Isolation, b.options.Workers = local.Snapshot, 1
	// It inherits neither the environment nor the working directory.
	for _, path := range []*string{&b.options.CacheDir, &b.options.InterpreterDir} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return nil, crashed(err)
		}
		*path = abs
	}
	l, measures, err := dial(ctx, argument, b.hello(), b.log)
	if err != nil {
		return nil, crashed(err)
	}
	b.measures, b.idle = measures, []*link{l}
	return b, nil
}

// get waits until a worker may be used, and returns an idle one that has the
// interpreter for script, or starts one. An empty script needs no interpreter.
func (b *Backend) get(ctx context.Context, script string) (*link, error) {
	select {
	case b.tokens <- struct{}{}:
	default:
		select {
		case b.tokens <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if l := b.pop(script); l != nil {
		return l, nil
	}
	l, err := b.start(ctx)
	if err != nil {
		<-b.tokens
	}
	return l, err
}

// pop returns an idle worker that is alive and has the interpreter, or nil. It
// kills idle workers without the interpreter, to make room for one with it.
func (b *Backend) pop(script string) *link {
	b.mu.Lock()
	defer b.mu.Unlock()
	if script != "" && !slices.Contains(b.scripts, script) {
		b.scripts = append(b.scripts, script)
	}
	for n := len(b.idle); n > 0; n = len(b.idle) {
		l := b.idle[n-1]
		b.idle = b.idle[:n-1]
		if l.alive() && (script == "" || slices.Contains(l.scripts, script)) {
			return l
		}
		l.cut()
	}
	return nil
}

// hello returns the configuration of the next worker. Without scripts, a worker
// does not need the cache.
func (b *Backend) hello() hello {
	h := hello{Options: b.options, Languages: slices.Clone(b.scripts), Programs: slices.Clone(b.offered)}
	for _, l := range b.known {
		h.Digests = append(h.Digests, l.Interpreter().Digest)
	}
	if len(h.Languages) == 0 {
		h.CacheDir = ""
	}
	return h
}

// start starts a worker. After consecutive crashes it waits first.
func (b *Backend) start(ctx context.Context) (*link, error) {
	b.mu.Lock()
	crashes, told := b.crashes, b.hello()
	b.mu.Unlock()
	if crashes > 0 {
		select {
		case <-time.After(min(firstBackOff<<min(crashes-1, 10), lastBackOff)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	l, _, err := dial(ctx, b.argument, told, b.log)
	if err != nil {
		b.count(false)
		return nil, crashed(err)
	}
	return l, nil
}

// put returns a worker, or what is left of it.
func (b *Backend) put(l *link, broken bool) {
	defer func() { <-b.tokens }()
	b.count(!broken)
	switch {
	case broken:
		l.cut()
	case l.busy > workerBusy:
		l.hangUp()
	default:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.idle = append(b.idle, l)
	}
}

func (b *Backend) count(well bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.crashes++; well {
		b.crashes = 0
	}
}

// offer makes future workers load programs in a language. The verdict means
// that they cannot, or that the worker already has the language.
func (b *Backend) offer(language string, has []string) *result.Verdict {
	l := b.known.Named(language)
	if l == nil || slices.Contains(has, language) {
		return result.Infrastructure(wire.ErrMessage)
	}
	if _, err := l.Interpreter().Load(b.options.InterpreterDir); err != nil {
		return result.Infrastructure(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.offered, language) {
		b.offered = append(b.offered, language)
	}
	return nil
}

// replace kills a worker that lacks a language, so that a new one can replace
// it.
func (b *Backend) replace(l *link) {
	l.cut()
	<-b.tokens
}

// add adds a module and returns its number.
func (b *Backend) add(m wire.Module) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	m.Number = b.last
	b.modules[b.last] = m
	return b.last
}

// remove removes a module. Workers unload it when they are next used.
func (b *Backend) remove(number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.modules, number)
	b.removed++
}

// module returns a module by its number. stale lists the modules loaded in l
// that were removed, if any module was removed since the last call for l.
func (b *Backend) module(l *link, number int) (m wire.Module, stale []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.swept != b.removed {
		l.swept = b.removed
		for n := range l.loaded {
			if _, ok := b.modules[n]; !ok {
				stale = append(stale, n)
			}
		}
	}
	return b.modules[number], stale
}

func (b *Backend) Close() {
	b.mu.Lock()
	idle := b.idle
	b.idle = nil
	b.mu.Unlock()
	for _, l := range idle {
		l.hangUp()
	}
}
