// Package ready opens rewards and keeps them open. Each tenant has its own sandboxes. A reward
// is opened once for concurrent requests, the number of open rewards is limited per tenant and
// in total, and unused ones are closed after a while.
package ready

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/merit-rl/merit/core/fault"
)

// Bounds are the limits of a Pool.
type Bounds struct {
	Each  int           // largest number of open values of one tenant; 0 means 16
	All   int           // largest number of open values in total; 0 means 128
	Idle  time.Duration // how long an unused value stays open; 0 means 15 minutes
	Loads int           // largest number of simultaneous loads of one tenant; 0 means 2
	// Again is how long a failed load is not repeated. Meanwhile its error is returned, so that
	// a client in a loop does not keep the compiler busy.
	Again time.Duration
	// Full is the error if all values that a tenant may have open are in use.
	Full fault.Error
}

// Closer is a value that a Pool holds.
type Closer interface {
	Close(ctx context.Context)
}

// Pool holds the open values of all tenants. Each tenant's number is limited, so that one with
// many does not close those of others. It is safe for concurrent use.
type Pool[R Closer] struct {
	config Bounds
	now    func() time.Time

	life   context.Context // context of loads, which may outlive the request that started them
	end    context.CancelFunc
	flight singleflight.Group
	busy   sync.WaitGroup // loads and the sweeper

	mu     sync.Mutex
	open   map[Key]*Opened[R]
	failed map[Key]failure
	queues map[string]chan struct{} // limits simultaneous loads, by tenant
}

// Key identifies an open value by tenant, digest and options.
type Key struct{ Tenant, Digest, Options string }

// Opened is an open value and its number of users.
type Opened[R Closer] struct {
	Value  R
	key    Key
	users  int
	used   time.Time
	closed bool // it gets no new users and is freed when the last one releases it
}

type failure struct {
	err   error
	until time.Time
}

// NewPool returns a pool, which the caller closes.
func NewPool[R Closer](c Bounds) *Pool[R] {
	c.Each, c.All, c.Loads, c.Idle = cmp.Or(c.Each, 16), cmp.Or(c.All, 128), cmp.Or(c.Loads, 2), cmp.Or(c.Idle, 15*time.Minute)
	p := &Pool[R]{config: c, now: time.Now, open: map[Key]*Opened[R]{}, failed: map[Key]failure{}, queues: map[string]chan struct{}{}}
	p.life, p.end = context.WithCancel(context.Background())
	p.busy.Go(p.sweepNowAndThen)
	return p
}

// Take returns an open value, or opens it, once for all concurrent callers. The caller must
// release it.
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

// ready returns an open value, or the recent error of its load, or neither.
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

var errClosed = &fault.Error{Boundary: fault.Storage, Kind: fault.Interrupted, What: "the server is shutting down", Hint: "retry; another server may take its place", Retry: true}

// bring opens a value, within the tenant's limit of loads.
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

// fail remembers the error of a load for Bounds.Again, unless the pool is closed.
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

// put makes a value available. It replaces another with the same key.
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

// Release ends one use of a value.
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

// drop closes the chosen values, at once or when their last use ends.
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

// Close cancels loads, waits for them, and closes every unused value. Values in use are closed
// when they are released.
func (p *Pool[R]) Close(ctx context.Context) {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.busy.Wait()
	p.drop(func(*Opened[R]) bool { return true })
}

// Forget clears the error of a failed load, so that it is tried again.
func (p *Pool[R]) Forget(k Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failed, k)
}

// Drop closes the chosen values, at once or when their last use ends.
func (p *Pool[R]) Drop(choose func(k Key) bool) {
	p.drop(func(o *Opened[R]) bool { return choose(o.key) })
}
