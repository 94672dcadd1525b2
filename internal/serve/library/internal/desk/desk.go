// Package desk holds what is open for several tenants: opened once whoever asks,
// bounded for each and for all, closed when nobody has used it for a while.
package desk

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/merit-rl/merit/core/fault"
)

// again is how long a reward that could not be opened is not tried again: its
// error is repeated, and a client in a loop does not keep the compiler busy.
const again = 5 * time.Second

// Config bounds a Desk.
type Config struct {
	Each  int           // open for one tenant; 0 means 16
	All   int           // open for all of them; 0 means 128
	Idle  time.Duration // how long something stays open that nobody asks for; 0 means 15 minutes
	Loads int           // being opened for one tenant at one time; 0 means 2
}

// Closer is what is open.
type Closer interface {
	Close(ctx context.Context)
}

// Desk holds what is open for all tenants: each bounded, so that one that opens
// many does not close those of others. It is safe for concurrent use.
type Desk[R Closer] struct {
	config Config
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
	Reward R
	key    Key
	users  int
	used   time.Time
	closed bool // nobody may begin to use it; it is freed when the last has ended
}

type failure struct {
	err   error
	until time.Time
}

// New returns a desk, which somebody closes.
func New[R Closer](c Config) *Desk[R] {
	c.Each, c.All, c.Loads, c.Idle = cmp.Or(c.Each, 16), cmp.Or(c.All, 128), cmp.Or(c.Loads, 2), cmp.Or(c.Idle, 15*time.Minute)
	d := &Desk[R]{config: c, now: time.Now, open: map[Key]*Opened[R]{}, failed: map[Key]failure{}, queues: map[string]chan struct{}{}}
	d.life, d.end = context.WithCancel(context.Background())
	d.busy.Go(d.sweepNowAndThen)
	return d
}

// Take gives an open reward, or opens it: once, whoever asks meanwhile. The
// caller puts it back.
func (d *Desk[R]) Take(ctx context.Context, k Key, load func(ctx context.Context) (R, error)) (*Opened[R], error) {
	for {
		if o, err := d.ready(k); o != nil || err != nil {
			return o, err
		}
		id := k.Tenant + "\x00" + k.Digest + "\x00" + k.Options
		done := d.flight.DoChan(id, func() (any, error) { return nil, d.bring(k, load) })
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
func (d *Desk[R]) ready(k Key) (*Opened[R], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		return nil, errClosed
	}
	if o := d.open[k]; o != nil {
		o.users++
		return o, nil
	}
	if f, ok := d.failed[k]; ok && d.now().Before(f.until) {
		return nil, f.err
	}
	return nil, nil
}

var errClosed = &fault.Error{Boundary: fault.Storage, Kind: fault.Interrupted, What: "the server is being stopped", Hint: "send it again to the next one", Retry: true}

// bring opens a reward, in the tenant's turn.
func (d *Desk[R]) bring(k Key, load func(ctx context.Context) (R, error)) error {
	d.mu.Lock()
	if d.life.Err() != nil {
		d.mu.Unlock()
		return errClosed
	}
	d.busy.Add(1)
	turn := d.queues[k.Tenant]
	if turn == nil {
		turn = make(chan struct{}, d.config.Loads)
		d.queues[k.Tenant] = turn
	}
	d.mu.Unlock()
	defer d.busy.Done()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-d.life.Done():
		return errClosed
	}
	if !d.room(k.Tenant) {
		return &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Exhausted, Where: "reward " + k.Digest, Retry: true,
			What: "as many rewards as may be open at one time are in use", Hint: "ask for fewer rewards, functions or parameters at one time",
		}
	}
	r, err := load(d.life)
	if err != nil {
		d.fail(k, err)
		return err
	}
	d.put(&Opened[R]{key: k, Reward: r})
	return nil
}

// fail keeps the error of a load for a while, unless the load was stopped.
func (d *Desk[R]) fail(k Key, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for old, f := range d.failed {
		if !now.Before(f.until) {
			delete(d.failed, old)
		}
	}
	const most = 10_000
	if len(d.failed) < most && d.life.Err() == nil {
		d.failed[k] = failure{err, now.Add(again)}
	}
}

// put makes a reward one that can be taken. Another of the same key goes.
func (d *Desk[R]) put(o *Opened[R]) {
	d.mu.Lock()
	before := d.open[o.key]
	o.used = d.now()
	d.open[o.key] = o
	delete(d.failed, o.key)
	if before != nil {
		before.closed = true
	}
	free := before != nil && before.users == 0
	d.mu.Unlock()
	if free {
		before.Reward.Close(context.WithoutCancel(d.life))
	}
}

// Release is the end of one use.
func (d *Desk[R]) Release(o *Opened[R]) {
	d.mu.Lock()
	o.users--
	o.used = d.now()
	free := o.closed && o.users == 0
	d.mu.Unlock()
	if free {
		o.Reward.Close(context.WithoutCancel(d.life))
	}
}

// drop closes what choose names: at once, or when its last use has ended.
func (d *Desk[R]) drop(choose func(o *Opened[R]) bool) {
	var free []*Opened[R]
	d.mu.Lock()
	for k, o := range d.open {
		if !choose(o) {
			continue
		}
		delete(d.open, k)
		if o.closed = true; o.users == 0 {
			free = append(free, o)
		}
	}
	d.mu.Unlock()
	for _, o := range free {
		o.Reward.Close(context.WithoutCancel(d.life))
	}
}

// Close ends loads, waits for them and closes every reward that nobody uses;
// the others are closed by who does.
func (d *Desk[R]) Close(ctx context.Context) {
	d.mu.Lock()
	d.end()
	d.mu.Unlock()
	d.busy.Wait()
	d.drop(func(*Opened[R]) bool { return true })
}

// Forget makes a load that failed one that is tried again.
func (d *Desk[R]) Forget(k Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.failed, k)
}

// Drop closes what choose names: at once, or when its last use has ended.
func (d *Desk[R]) Drop(choose func(k Key) bool) {
	d.drop(func(o *Opened[R]) bool { return choose(o.key) })
}
