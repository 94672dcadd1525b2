// Package share lets many independent sessions play in a few vectors: each
// session has a slot of one env.Env to itself, and what sessions ask for at
// about the same time goes to the vector as one batch.
//
// An env.Env answers all slots of a batch together, so the slowest slot of a
// batch holds up the others in it. Whoever comes while a batch is under way
// takes the next one. Before that leaves, it waits a little for the sessions
// that the last batch has served, since they tend to ask again at once: at most
// a quarter of what a batch takes, and never longer than MaxLinger. An
// environment that answers within microseconds therefore waits for nobody, and
// one that takes a second does not split its sessions into two halves that wait
// for each other.
package share

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// MaxLinger is the longest that a batch waits for more to join it.
const MaxLinger = 250 * time.Millisecond

// Open starts the vector with number i of a pool, from 0. All must describe
// themselves alike.
type Open func(ctx context.Context, i int) (env.Env, error)

// Pool is a fixed number of vectors and the sessions in them.
type Pool struct {
	vectors []*vector
	spec    env.Spec
	ends    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // over who sits where
	closed bool
}

// New opens n vectors. The context bounds their start. What goes wrong with a
// vector later is written to log, which may be nil.
func New(ctx context.Context, n int, open Open, log *slog.Logger) (*Pool, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	life, ends := context.WithCancel(context.Background())
	p := &Pool{ends: ends}
	for i := range n {
		e, err := open(ctx, i)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.spec = e.Spec()
		v := newVector(life, i, e, log)
		p.vectors = append(p.vectors, v)
		p.running.Go(v.run)
	}
	return p, nil
}

// Spec describes the environment. Slots are those of one vector.
func (p *Pool) Spec() env.Spec { return p.spec }

// Capacity is how many sessions there may be at one time.
func (p *Pool) Capacity() int { return len(p.vectors) * p.spec.Slots }

// Sessions is how many there are now.
func (p *Pool) Sessions() (n int) {
	for _, v := range p.vectors {
		n += v.load()
	}
	return n
}

// Down is how many vectors cannot be kept alive, of all. Each is tried again
// after a while.
func (p *Pool) Down() (down, all int) {
	for _, v := range p.vectors {
		if v.down() != nil {
			down++
		}
	}
	return down, len(p.vectors)
}

// Open gives a session the slot of the vector with the fewest sessions. Its
// error, a *fault.Error of kind Exhausted, says that all slots are taken.
func (p *Pool) Open() (*Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ended(p.spec.Name)
	}
	var best *vector
	least := p.spec.Slots
	for _, v := range p.vectors {
		if n := v.load(); n < least && (v.down() == nil || best == nil) {
			best, least = v, n
		}
	}
	if best == nil {
		return nil, &fault.Error{
			Boundary: fault.Server, Kind: fault.Exhausted, Where: p.spec.Name, Retry: true,
			What: fmt.Sprintf("all %d slots have a session", p.Capacity()), Hint: "close a session, or serve more slots",
		}
	}
	return best.seat(), nil
}

// Close ends every vector. Sessions that wait for an answer are told so.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ends()
	p.running.Wait()
	var errs []error
	for _, v := range p.vectors {
		errs = append(errs, v.env.Close())
	}
	return errors.Join(errs...)
}

// ended is the error of a pool that is closed.
func ended(where string) error {
	return &fault.Error{Boundary: fault.Server, Kind: fault.Interrupted, Where: where, What: "the server is stopping", Retry: true}
}
