package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchTick  = 2 * time.Millisecond   // how often running guests are looked at
	watchAgain = 100 * time.Microsecond // how often the fuel of a killed one is set
	watchIdle  = 100                    // ticks without a running guest before the watchdog sleeps
)

// watchdog is the last resort against guests that fuel does not stop in time.
// It also stops guests when the caller's context ends. It drains their tank
// until the call has returned, because a write of the guest may undo that. It
// never touches a guest that is not running.
type watchdog struct {
	mu     sync.Mutex
	guards map[*guard]struct{}
	asleep atomic.Bool
	wake   chan struct{}
	done   chan struct{}
	ended  chan struct{}
}

// guard is the watchdog's record of one instance.
type guard struct {
	mu       sync.Mutex
	watch    *watchdog
	running  bool
	waits    bool // for another machine, within a host function
	ctx      context.Context
	tank     tank
	deadline time.Time
	wall     time.Duration
	killed   *Stop
}

func newWatchdog() *watchdog {
	w := &watchdog{
		guards: map[*guard]struct{}{}, wake: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.run()
	return w
}

func (w *watchdog) close() {
	close(w.done)
	<-w.ended
}

func (w *watchdog) add(g *guard) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guards[g] = struct{}{}
}

func (w *watchdog) remove(g *guard) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.guards, g)
}

// begin starts watching. The clock starts at the watchdog's next look, which
// saves reading it here.
func (w *watchdog) begin(g *guard, ctx context.Context, wall time.Duration, t tank) {
	g.mu.Lock()
	g.watch, g.ctx, g.wall, g.tank = w, ctx, wall, t
	g.running, g.waits, g.killed, g.deadline = true, false, nil, time.Time{}
	g.mu.Unlock()
	if w.asleep.Load() { // a count of running guests would be shared by all CPUs that step
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// end stops watching and returns the Stop if the guest was killed.
func (g *guard) end() *Stop {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running, g.ctx = false, nil
	return g.killed
}

func (w *watchdog) run() {
	defer close(w.ended)
	timer := time.NewTimer(watchTick)
	defer timer.Stop()
	for idle := 0; ; {
		select {
		case <-w.done:
			return
		case now := <-timer.C:
			next, running := w.look(now)
			if idle++; running {
				idle = 0
			}
			if idle >= watchIdle && !w.sleep() {
				return
			}
			timer.Reset(next)
		}
	}
}

// sleep waits for a guest to run, or returns false when the engine closes.
func (w *watchdog) sleep() bool {
	w.asleep.Store(true)
	defer w.asleep.Store(false)
	if w.busy() { // began before it could see that the watchdog sleeps
		return true
	}
	select {
	case <-w.done:
		return false
	case <-w.wake:
		return true
	}
}

// busy reports whether a guest is running.
func (w *watchdog) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g := range w.guards {
		g.mu.Lock()
		running := g.running
		g.mu.Unlock()
		if running {
			return true
		}
	}
	return false
}

func (w *watchdog) look(now time.Time) (next time.Duration, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next = watchTick
	for g := range w.guards {
		runs, killing := g.look(now)
		if running = running || runs; killing {
			next = watchAgain
		}
	}
	return next, running
}

func (g *guard) look(now time.Time) (running, killing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running {
		return false, false
	}
	if g.deadline.IsZero() {
		g.deadline = now.Add(g.wall)
	}
	switch {
	case g.killed != nil:
	case g.ctx.Err() != nil:
		g.killed = &Stop{Kind: Cancelled, Err: g.ctx.Err()}
	case !g.waits && now.After(g.deadline):
		g.killed = &Stop{Kind: TimedOut}
	default:
		return true, false
	}
	g.tank.drain()
	return true, true
}

// Wait runs work, for which the guest waits within a host function. The wall clock of the
// budget stands still meanwhile. The end of the context still stops the guest, after work.
func (i *Instance) Wait(work func()) {
	g := i.watch
	g.pause()
	began := time.Now()
	defer func() { g.resume(time.Since(began)) }()
	work()
}

func (g *guard) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits = true
}

func (g *guard) resume(waited time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waits = false; !g.deadline.IsZero() {
		g.deadline = g.deadline.Add(waited)
	}
}
