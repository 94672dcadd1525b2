// Package fleet lets workers of other machines play and score for a session. The
// coordinator packs what a session is made of into one bundle, sends orders that
// name it, and holds what comes back to them; a Bench is a worker's side: it opens
// a bundle once and does what orders say.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

// Coordinator has a fleet play for a session. It is safe for concurrent use as
// far as its players are different ones.
type Coordinator struct {
	fleet queue.Fleet
	cfg   *merit.Config
	task  string        // the environment's name
	job   queue.Content // the bundle
	log   *slog.Logger

	mutex   sync.Mutex // of what follows
	totals  Totals
	weights acting
}

// acting are the weights that were put last.
type acting struct {
	of      policy.Learner
	version uint64
	state   []byte
	content queue.Content
}

// Totals is what a fleet has done for a session; for people only.
type Totals struct {
	Shards       int            // that have a result
	Redeliveries int            // of shards that were handed out more than once
	Lost         int            // shards without a result
	Workers      map[string]int // shards by who computed them
}

// CoordinatorOptions are what a coordinator needs of the program.
type CoordinatorOptions struct {
	Log *slog.Logger // nil = none
}

// NewCoordinator packs what s is made of, for f, which the caller closes. What cannot
// be sent, such as an environment of this process, is an error.
func NewCoordinator(f queue.Fleet, s *merit.Session, o CoordinatorOptions) (*Coordinator, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b, err := Pack(s)
	if err != nil {
		return nil, err
	}
	return &Coordinator{fleet: f, cfg: s.Config, task: s.Plugin.Name, job: b.Content(), log: o.Log, totals: Totals{Workers: map[string]int{}}}, nil
}

// OpenPlayer is a train.OpenPlayer.
func (c *Coordinator) OpenPlayer(_ context.Context, split string, p policy.Learner) (train.Player, error) {
	if c.cfg.Environment.Plugin == "" {
		return nil, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Invalid, Where: "environment.plugin", What: "there is nothing to play", Hint: "name an environment, or go on without a fleet",
		}
	}
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
// orders, and returns them as a content, in which they go unless they are small. A
// policy that never learnt is sent as nothing unless it says what acts: whoever opens
// it anew has the same.
func (c *Coordinator) equip(ctx context.Context, o *shardcodec.Order, p policy.Learner, orders int) (queue.Content, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	w := c.weights
	if version := p.Version(); w.of != p || w.version != version { // the versions of one learner have one state each
		state, err := stateTo(ctx, p, version)
		if err != nil {
			return w.content, err
		}
		w = acting{of: p, version: version, state: state, content: queue.ContentOf(state)}
		c.weights = w
	}
	o.Policy, o.Version = w.content.Digest, w.version
	if n := len(w.state); n > 0 && n <= shardcodec.MaxWeights && n*orders <= mostWeights {
		o.Weights = w.state
	}
	return w.content, nil
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
func (c *Coordinator) counted(r queue.Result) {
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

// each has n shards computed under the name of a job, and calls take with each
// result, several at one time.
func (c *Coordinator) each(ctx context.Context, job string, n int, shard func(i int) (queue.Shard, error), take func(i int, r queue.Result)) error {
	var failed error
	places := make(chan struct{}, cpus.Count()) // one for each result that is read now
	var reading sync.WaitGroup
	defer reading.Wait()
	for r, err := range c.fleet.Submit(ctx, job, func(yield func(queue.Shard) bool) {
		for i := range n {
			var s queue.Shard
			if s, failed = shard(i); failed != nil || !yield(s) {
				return
			}
		}
	}) {
		if failed != nil || err != nil {
			return cmp.Or(failed, err)
		}
		c.counted(r)
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			take(r.Index, r)
		})
	}
	return failed
}
