// Package fleet lets workers on other machines play and score episodes for a session. The
// coordinator packs the session into one package, sends orders that name the package, and checks
// the results against the orders. On the worker's side, an Executor opens each package once and
// carries out the orders.
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

// Coordinator plays the episodes of a session on a fleet. It is safe for concurrent use if each
// goroutine uses its own players.
type Coordinator struct {
	fleet queue.Fleet
	cfg   *merit.Config
	task  string        // the environment's name
	job   queue.Content // the package
	log   *slog.Logger

	mutex   sync.Mutex // guards totals and weights
	totals  Totals
	weights sentWeights
}

// sentWeights holds the weights that were attached last.
type sentWeights struct {
	of      policy.Learner
	version uint64
	state   []byte
	content queue.Content
}

// Totals counts what a fleet has done for a session. It is informational.
type Totals struct {
	Shards       int            // with a result
	Redeliveries int            // deliveries of a shard after its first
	Lost         int            // shards without a result
	Workers      map[string]int // number of shards by worker
}

// CoordinatorOptions configure a Coordinator.
type CoordinatorOptions struct {
	Log *slog.Logger // nil = none
}

// NewCoordinator packs s for the fleet f. The caller closes f. It returns an error if s
// contains something that cannot be sent, such as an environment that runs inside this process.
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

// OpenPlayer implements train.OpenPlayer.
func (c *Coordinator) OpenPlayer(_ context.Context, split string, p policy.Learner) (train.Player, error) {
	if !c.cfg.Environment.Named() {
		return nil, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Invalid, Where: "environment.plugin", What: "the configuration has no environment to play", Hint: "name an environment, or run without a fleet",
		}
	}
	return &player{Coordinator: c, split: split, policy: p}, nil
}

// Totals returns the counts so far.
func (c *Coordinator) Totals() Totals {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	t := c.totals
	t.Workers = maps.Clone(t.Workers)
	return t
}

// maxEmbedded is the largest total size, in bytes, of weights embedded in the orders of one
// plan. Embedding a small total is faster than storing a content, which takes 5 ms.
const maxEmbedded = 4 << 20

// attachWeights puts the current weights of p into o and returns them as a content, which the orders
// need if the weights are not small enough to embed. The argument orders is the number of
// orders that will carry them. An untrained policy that is not policy.Portable is sent without
// weights, because a worker initializes it to the same state.
func (c *Coordinator) attachWeights(ctx context.Context, o *shardcodec.Order, p policy.Learner, orders int) (queue.Content, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	w := c.weights
	if version := p.Version(); w.of != p || w.version != version { // a version of a learner has exactly one state
		state, err := weightsOf(ctx, p, version)
		if err != nil {
			return w.content, err
		}
		w = sentWeights{of: p, version: version, state: state, content: queue.ContentOf(state)}
		c.weights = w
	}
	o.Policy, o.Version = w.content.Digest, w.version
	if n := len(w.state); n > 0 && n <= shardcodec.MaxWeights && n*orders <= maxEmbedded {
		o.Weights = w.state
	}
	return w.content, nil
}

// weightsOf returns the weights with which p acts at the given version, or nil if p is untrained
// and not policy.Portable.
func weightsOf(ctx context.Context, p policy.Learner, version uint64) (state []byte, err error) {
	if portable, ok := p.(policy.Portable); ok {
		state, err = portable.Weights(ctx)
	} else if version > 0 {
		state, err = p.Save(ctx, fmt.Sprintf("fleet-%d", version))
	}
	if err == nil && len(state) > maxWeights {
		err = tooLarge(int64(len(state)))
	}
	return state, err
}

// maxWeights is the largest size of weights, in bytes, that a fleet accepts.
const maxWeights = 256 << 20

func tooLarge(n int64) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Exhausted, Where: "policy", What: fmt.Sprintf("the weights have %d bytes, and a fleet accepts at most %d", n, maxWeights),
		Hint: "keep the weights in an engine that workers reach by address",
	}
}

// count adds a result to the totals.
func (c *Coordinator) count(r queue.Result) {
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

// each submits n shards under a job name and calls take with each result, from several
// goroutines at once.
func (c *Coordinator) each(ctx context.Context, job string, n int, shard func(i int) (queue.Shard, error), take func(i int, r queue.Result)) error {
	var failed error
	places := make(chan struct{}, cpus.Count()) // limits how many results are read at the same time
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
		c.count(r)
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			take(r.Index, r)
		})
	}
	return failed
}
