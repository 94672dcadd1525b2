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
	workerCPU    = 8 * time.Hour // a process may use over its life
	workerBusy   = time.Hour     // of work, after which it is replaced; it has two processors
	firstBackOff = 50 * time.Millisecond
	lastBackOff  = 5 * time.Second
)

// fleet is the worker processes of a runtime. Each serves all modules, one
// evaluation at a time, and is started when needed.
type fleet struct {
	options  Options
	known    source.Languages
	argument string // by which the program knows that it is a worker
	measures jail.Measures
	tokens   chan struct{}

	mu      sync.Mutex
	idle    []*link
	scripts []string            // extensions of the scripts that were loaded; it only grows
	offered []string            // languages of programs that rewards wanted; likewise
	modules map[int]wire.Module // what may be loaded
	last    int                 // number given to a module
	removed int                 // modules removed
	crashes int                 // without an evaluation that went well since
	noted   map[string]bool     // what workers noted, to log it once
}

func newFleet(ctx context.Context, o Options, known source.Languages, argument string) (*fleet, error) {
	f := &fleet{options: o, known: known, argument: argument, tokens: make(chan struct{}, o.Workers), modules: map[int]wire.Module{}, noted: map[string]bool{}}
	// What a worker does inside is what isolation: snapshot does.
	f.options.Isolation, f.options.Workers = local.Snapshot, 1
	// It has neither our environment nor our working directory.
	for _, path := range []*string{&f.options.CacheDir, &f.options.InterpreterDir} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return nil, crashed(err)
		}
		*path = abs
	}
	l, measures, err := dial(ctx, argument, f.hello(), f.log)
	if err != nil {
		return nil, crashed(err)
	}
	f.measures, f.idle = measures, []*link{l}
	return f, nil
}

// get waits for a worker that can run what needs this interpreter, if any, or
// starts one.
func (f *fleet) get(ctx context.Context, script string) (*link, error) {
	select {
	case f.tokens <- struct{}{}:
	default:
		select {
		case f.tokens <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if l := f.pop(script); l != nil {
		return l, nil
	}
	l, err := f.start(ctx)
	if err != nil {
		<-f.tokens
	}
	return l, err
}

// pop returns an idle worker that lives and has the interpreter, or nil. One
// without makes room for one with it.
func (f *fleet) pop(script string) *link {
	f.mu.Lock()
	defer f.mu.Unlock()
	if script != "" && !slices.Contains(f.scripts, script) {
		f.scripts = append(f.scripts, script)
	}
	for n := len(f.idle); n > 0; n = len(f.idle) {
		l := f.idle[n-1]
		f.idle = f.idle[:n-1]
		if l.alive() && (script == "" || slices.Contains(l.scripts, script)) {
			return l
		}
		l.cut()
	}
	return nil
}

// hello is what the next worker is told. Without scripts it has no use for the
// cache.
func (f *fleet) hello() hello {
	h := hello{f.options, slices.Clone(f.scripts), slices.Clone(f.offered)}
	if len(h.Languages) == 0 {
		h.CacheDir = ""
	}
	return h
}

// start starts a worker; after crashes in a row it waits before.
func (f *fleet) start(ctx context.Context) (*link, error) {
	f.mu.Lock()
	crashes, told := f.crashes, f.hello()
	f.mu.Unlock()
	if crashes > 0 {
		select {
		case <-time.After(min(firstBackOff<<min(crashes-1, 10), lastBackOff)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	l, _, err := dial(ctx, f.argument, told, f.log)
	if err != nil {
		f.count(false)
		return nil, crashed(err)
	}
	return l, nil
}

// put gives a worker back, or what is left of it.
func (f *fleet) put(l *link, broken bool) {
	defer func() { <-f.tokens }()
	f.count(!broken)
	switch {
	case broken:
		l.cut()
	case l.busy > workerBusy:
		l.hangUp()
	default:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.idle = append(f.idle, l)
	}
}

func (f *fleet) count(well bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashes++; well {
		f.crashes = 0
	}
}

// offer has workers to come load programs of a language. The verdict is that
// they cannot, or that a worker wants what it has.
func (f *fleet) offer(language string, has []string) *result.Verdict {
	l := f.known.Named(language)
	if l == nil || slices.Contains(has, language) {
		return result.Infrastructure(wire.ErrMessage)
	}
	if _, err := l.Interpreter().Load(f.options.InterpreterDir); err != nil {
		return result.Infrastructure(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.offered, language) {
		f.offered = append(f.offered, language)
	}
	return nil
}

// replace ends a worker that lacks something, so that a new one takes its place.
func (f *fleet) replace(l *link) {
	l.cut()
	<-f.tokens
}

// add gives a module a number.
func (f *fleet) add(m wire.Module) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	m.Number = f.last
	f.modules[f.last] = m
	return f.last
}

// remove forgets a module; workers are told when they are next used.
func (f *fleet) remove(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.modules, number)
	f.removed++
}

// module returns a module by its number, and the modules among loaded that
// were removed, if any were since the link looked last.
func (f *fleet) module(l *link, number int) (m wire.Module, stale []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.swept != f.removed {
		l.swept = f.removed
		for n := range l.loaded {
			if _, ok := f.modules[n]; !ok {
				stale = append(stale, n)
			}
		}
	}
	return f.modules[number], stale
}

func (f *fleet) close() {
	f.mu.Lock()
	idle := f.idle
	f.idle = nil
	f.mu.Unlock()
	for _, l := range idle {
		l.hangUp()
	}
}
