// Package ready opens rewards and keeps them open: in sandboxes of each tenant's
// own, opened once whoever asks, bounded for each tenant and for all, closed when
// nobody has used them for a while.
package ready

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/merit-rl/merit/core/fault"
)

// Bounds bound a Pool.
type Bounds struct {
	Each  int           // open for one tenant; 0 means 16
	All   int           // open for all of them; 0 means 128
	Idle  time.Duration // how long something stays open that nobody asks for; 0 means 15 minutes
	Loads int           // being opened for one tenant at one time; 0 means 2
	// Again is how long what could not be opened is not tried again: its error is
	// repeated, and a client in a loop does not keep the compiler busy.
	Again time.Duration
	// Full says what is used up where a tenant has as many in use as may be open.
	Full fault.Error
}

// Closer is what is open.
type Closer interface {
	Close(ctx context.Context)
}

// Pool holds what is open for all tenants: each bounded, so that one that opens
// many does not close those of others. It is safe for concurrent use.
type Pool[R Closer] struct {
	config Bounds
	now    func() time.Time

	life   context.Context // of loads: they outlive who asked first
	end    context.CancelFunc
	flight singleflight.Group
	busy   sync.WaitGroup // loads and the sweeper

	mu     sync.Mutex
	open   map[Key]*Opened[R]
	failed map[Key]failure
	queues map[string]chan struct{} // loads of a tenant at one time
}

// Key is something open: of one tenant, opened in one way.
type Key struct{ Tenant, Digest, Options string }

// Opened is something open with its users.
type Opened[R Closer] struct {
	Value  R
	key    Key
	users  int
	used   time.Time
	closed bool // nobody may begin to use it; it is freed when the last has ended
}

type failure struct {
	err   error
	until time.Time
}

// NewPool returns a pool, which somebody closes.
func NewPool[R Closer](c Bounds) *Pool[R] {
	c.Each, c.All, c.Loads, c.Idle = cmp.Or(c.Each, 16), cmp.Or(c.All, 128), cmp.Or(c.Loads, 2), cmp.Or(c.Idle, 15*time.Minute)
	p := &Pool[R]{config: c, now: time.Now, open: map[Key]*Opened[R]{}, failed: map[Key]failure{}, queues: map[string]chan struct{}{}}
	p.life, p.end = context.WithCancel(context.Background())
	p.busy.Go(p.sweepNowAndThen)
	return p
}

// Take gives an open reward, or opens it: once, whoever asks meanwhile. The
// caller puts it back.
func (p *Pool[R]) Take(ctx context.Context, k Key, load func(ctx context.Context) (R, error)) (*Opened[R], error) {
	for {
		if o, err := p.ready(k); o != nil || err != nil {
			return o, err
		}
		id := k.Tenant + "\x00" + k.Digest + "\x00" + k.Options
		done := p.flight.DoChan(id, func() (any, error) { return nil, p.bring(k, load) })
		select {
		case r := <-done:
			if r.Err != nil {
				return nil, r.Err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ready gives an open reward, or the error with which it could not be opened
// lately, or neither.
func (p *Pool[R]) ready(k Key) (*Opened[R], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, errClosed
	}
	if o := p.open[k]; o != nil {
		o.users++
		return o, nil
	}
	if f, ok := p.failed[k]; ok && p.now().Before(f.until) {
		return nil, f.err
	}
	return nil, nil
}

var errClosed = &fault.Error{Boundary: fault.Storage, Kind: fault.Interrupted, What: "the server is being stopped", Hint: "send it again to the next one", Retry: true}

// bring opens a reward, in the tenant's turn.
func (p *Pool[R]) bring(k Key, load func(ctx context.Context) (R, error)) error {
	p.mu.Lock()
	if p.life.Err() != nil {
		p.mu.Unlock()
		return errClosed
	}
	p.busy.Add(1)
	turn := p.queues[k.Tenant]
	if turn == nil {
		turn = make(chan struct{}, p.config.Loads)
		p.queues[k.Tenant] = turn
	}
	p.mu.Unlock()
	defer p.busy.Done()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-p.life.Done():
		return errClosed
	}
	if !p.room(k.Tenant) {
		full := p.config.Full
		full.Boundary, full.Kind, full.Retry = fault.Sandbox, fault.Exhausted, true
		full.Where = cmp.Or(full.Where, "reward "+k.Digest)
		return &full
	}
	r, err := load(p.life)
	if err != nil {
		p.fail(k, err)
		return err
	}
	p.put(&Opened[R]{key: k, Value: r})
	return nil
}

// fail keeps the error of a load for a while, unless the load was stopped.
func (p *Pool[R]) fail(k Key, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for old, f := range p.failed {
		if !now.Before(f.until) {
			delete(p.failed, old)
		}
	}
	const most = 10_000
	if len(p.failed) < most && p.life.Err() == nil {
		p.failed[k] = failure{err, now.Add(p.config.Again)}
	}
}

// put makes a reward one that can be taken. Another of the same key goes.
func (p *Pool[R]) put(o *Opened[R]) {
	p.mu.Lock()
	before := p.open[o.key]
	o.used = p.now()
	p.open[o.key] = o
	delete(p.failed, o.key)
	if before != nil {
		before.closed = true
	}
	free := before != nil && before.users == 0
	p.mu.Unlock()
	if free {
		before.Value.Close(context.WithoutCancel(p.life))
	}
}

// Release is the end of one use.
func (p *Pool[R]) Release(o *Opened[R]) {
	p.mu.Lock()
	o.users--
	o.used = p.now()
	free := o.closed && o.users == 0
	p.mu.Unlock()
	if free {
		o.Value.Close(context.WithoutCancel(p.life))
	}
}

// drop closes what choose names: at once, or when its last use has ended.
func (p *Pool[R]) drop(choose func(o *Opened[R]) bool) {
	var free []*Opened[R]
	p.mu.Lock()
	for k, o := range p.open {
		if !choose(o) {
			continue
		}
		delete(p.open, k)
		if o.closed = true; o.users == 0 {
			free = append(free, o)
		}
	}
	p.mu.Unlock()
	for _, o := range free {
		o.Value.Close(context.WithoutCancel(p.life))
	}
}

// Close ends loads, waits for them and closes every reward that nobody uses;
// the others are closed by who does.
func (p *Pool[R]) Close(ctx context.Context) {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.busy.Wait()
	p.drop(func(*Opened[R]) bool { return true })
}

// Forget makes a load that failed one that is tried again.
func (p *Pool[R]) Forget(k Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failed, k)
}

// Drop closes what choose names: at once, or when its last use has ended.
func (p *Pool[R]) Drop(choose func(k Key) bool) {
	p.drop(func(o *Opened[R]) bool { return choose(o.key) })
}
