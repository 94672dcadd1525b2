// Package fleets lets a fleet of workers play and score for a session. The
// coordinator packs what a session is made of into one bundle, sends orders that
// name it, and holds what comes back to them; a Bench is a worker's side: it opens
// a bundle once and does what orders say.
package fleets

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/played"
	"github.com/merit-rl/merit/sdk/merit"
)

// Coordinator has a fleet play for a session. It is safe for concurrent use as
// far as its players are different ones.
type Coordinator struct {
	fleet fleet.Fleet
	cfg   *merit.Config
	task  string // the environment's name
	job   fleet.Digest
	log   *slog.Logger

	mutex   sync.Mutex // of what follows
	totals  Totals
	wrong   map[string]int // results of a worker that were no answers
	weights acting
}

// acting are the weights that were put last.
type acting struct {
	of      policy.Learner
	version uint64
	state   []byte
	digest  fleet.Digest
	there   bool // the fleet has them as a content
}

// Totals is what a fleet has done for a session; for people only.
type Totals struct {
	Shards       int            // that have a result
	Redeliveries int            // of shards that were handed out more than once
	Refused      int            // results that were no answers to their orders
	Lost         int            // shards without a result
	Workers      map[string]int // shards by who computed them
}

// CoordinatorOptions are what a coordinator needs of the program.
type CoordinatorOptions struct {
	Log *slog.Logger // nil = none
}

// NewCoordinator packs what s is made of and gives it to f, which the caller
// closes. What cannot be sent, such as an environment of this process, is an error.
func NewCoordinator(ctx context.Context, f fleet.Fleet, s *merit.Session, o CoordinatorOptions) (*Coordinator, error) {
	if s.Config.Environment.Plugin == "" {
		return nil, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Invalid, Where: "environment.plugin", What: "there is nothing to play", Hint: "name an environment, or go on without a fleet",
		}
	}
	return coordinate(ctx, f, s, o)
}

// coordinate is NewCoordinator for what need not play.
func coordinate(ctx context.Context, f fleet.Fleet, s *merit.Session, o CoordinatorOptions) (*Coordinator, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b, err := Pack(s)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := f.Put(ctx, b.Digest, b.Size, b); err != nil {
		return nil, err
	}
	return &Coordinator{
		fleet: f, cfg: s.Config, task: s.Plugin.Name, job: b.Digest, log: o.Log,
		totals: Totals{Workers: map[string]int{}}, wrong: map[string]int{},
	}, nil
}

// OpenPlayer is a train.OpenPlayer.
func (c *Coordinator) OpenPlayer(_ context.Context, split string, p policy.Learner) (train.Player, error) {
	return &player{Coordinator: c, split: split, policy: p}, nil
}

// Totals returns what the fleet has done so far.
func (c *Coordinator) Totals() Totals {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	t := c.totals
	t.Workers = maps.Clone(t.Workers)
	return t
}

// mostWeights is how many bytes of weights may go with the orders of one plan: where
// they are few, that takes less time than a content, which costs 5 ms.
const mostWeights = 4 << 20

// equip puts the weights with which p acts into o, of which there will be so many
// orders: with them if they are small, else as a content. A policy that never learnt
// is sent as nothing unless it says what acts: whoever opens it anew has the same.
func (c *Coordinator) equip(ctx context.Context, o *played.Order, p policy.Learner, orders int) error {
	version := p.Version()
	c.mutex.Lock()
	w := c.weights
	c.mutex.Unlock()
	if w.of != p || w.version != version { // the versions of one learner have one state each
		state, err := stateTo(ctx, p, version)
		if err != nil {
			return err
		}
		w = acting{of: p, version: version, state: state, digest: fleet.DigestOfBytes(state)}
	}
	o.Policy, o.Version = w.digest, version
	if n := len(w.state); n > 0 && n <= played.MaxWeights && n*orders <= mostWeights {
		o.Weights = w.state
	} else if !w.there {
		if err := c.fleet.Put(ctx, w.digest, int64(n), bytes.NewReader(w.state)); err != nil {
			return err
		}
		w.there = true
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.weights = w
	return nil
}

// stateTo is what p acts with.
func stateTo(ctx context.Context, p policy.Learner, version uint64) (state []byte, err error) {
	if portable, ok := p.(policy.Portable); ok {
		state, err = portable.Weights(ctx)
	} else if version > 0 {
		state, err = p.Save(ctx, fmt.Sprintf("fleet-%d", version))
	}
	if err == nil && len(state) > maxState {
		err = tooHeavy(int64(len(state)))
	}
	return state, err
}

// maxState is how many bytes of weights a fleet is sent.
const maxState = 256 << 20

func tooHeavy(n int64) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Exhausted, Where: "policy", What: fmt.Sprintf("its weights have %d bytes; a fleet is sent %d at most", n, maxState),
		Hint: "let an engine keep them, which workers reach by its address",
	}
}

// counted notes a result.
func (c *Coordinator) counted(r fleet.Result) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.totals.Redeliveries += max(0, r.Deliveries-1)
	if r.Err != nil {
		c.totals.Lost++
		return
	}
	c.totals.Shards++
	c.totals.Workers[r.Worker]++
}

// blame notes that a worker's result was no answer. Who does it again gets
// nothing more, if the fleet can do without it.
func (c *Coordinator) blame(ctx context.Context, worker string, why error) {
	c.mutex.Lock()
	c.totals.Refused++
	c.totals.Shards--
	c.totals.Workers[worker]--
	c.wrong[worker]++
	again := c.wrong[worker] > 1
	c.mutex.Unlock()
	c.log.WarnContext(ctx, "the result of a worker is no answer to its order; it is computed again", "worker", worker, "cause", why)
	if x, ok := c.fleet.(excluder); ok && again {
		x.Exclude(worker, why)
	}
}

// excluder is a fleet that can do without a worker.
type excluder interface {
	Exclude(worker string, why error)
}
