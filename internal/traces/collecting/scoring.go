package collecting

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/traces"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
)

// Bounds of what waits for rewards.
const (
	mostWaiting = 100_000 // traces
	mostEnded   = 100_000 // traces that are remembered as ended
	atOnce      = 64      // traces of one pass
)

// scoring gives rewards to traces that have ended, on a goroutine of its own:
// who sends spans does not wait for it.
type scoring struct {
	store   *store.Store
	rewards *merit.Rewards
	log     *slog.Logger

	scored, unscored, unheard atomic.Uint64

	mu      sync.Mutex
	queue   []string
	waiting map[string]bool // in queue
	ended   map[string]bool
	order   []string // of ended, the oldest first
	closed  bool
	wake    chan struct{}

	done chan struct{}
	life context.Context
	stop context.CancelFunc
}

// loadRewards opens what scores. A reward that compares the traces of a group
// cannot: the others are still to come.
func loadRewards(ctx context.Context, c *Config, o Options) (*merit.Rewards, error) {
	options := []merit.Option{merit.WithLogger(o.Logger), merit.WithVariables(o.Getenv)}
	for _, s := range o.Scorers {
		options = append(options, merit.WithScorer(s.Scorer, s.Weight))
	}
	r, err := merit.LoadRewards(ctx, c.Sandbox, c.Rewards, options...)
	if err != nil {
		return nil, err
	}
	if r.Group() {
		err := &fault.Error{
			Boundary: fault.Config, Kind: fault.Refused, Where: c.Places.Of("rewards"), What: "a reward compares the traces of a group, of which others are still to come when one ends",
			Hint: "leave it out, and score with merit traces score when all have ended",
		}
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func startScoring(s *store.Store, r *merit.Rewards, log *slog.Logger) *scoring {
	x := &scoring{
		store: s, rewards: r, log: log, waiting: map[string]bool{}, ended: map[string]bool{}, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	x.life, x.stop = context.WithCancel(context.Background())
	go x.run()
	return x
}

// note puts traces that have ended into the queue, and those that had and go on.
func (x *scoring) note(spans []trace.Span, about []trace.About) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range about {
		if s := about[i].Status; s == trace.StatusOK || s == trace.StatusError {
			x.remember(about[i].Trace)
			x.enqueue(about[i].Trace)
		}
	}
	for i := range spans {
		if x.ended[spans[i].Trace] && spans[i].Kind != trace.KindReward {
			x.enqueue(spans[i].Trace)
		}
	}
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *scoring) remember(id string) {
	if x.ended[id] {
		return
	}
	if len(x.order) == mostEnded {
		delete(x.ended, x.order[0])
		x.order = x.order[1:]
	}
	x.ended[id] = true
	x.order = append(x.order, id)
}

func (x *scoring) enqueue(id string) {
	switch {
	case x.waiting[id]:
	case x.closed || len(x.queue) >= mostWaiting:
		x.unheard.Add(1)
	default:
		x.waiting[id] = true
		x.queue = append(x.queue, id)
	}
}

// take waits for traces, and returns none at the end.
func (x *scoring) take() []string {
	for {
		x.mu.Lock()
		if n := min(len(x.queue), atOnce); n > 0 {
			ids := x.queue[:n:n]
			x.queue = x.queue[n:]
			for _, id := range ids {
				delete(x.waiting, id)
			}
			x.mu.Unlock()
			return ids
		}
		closed := x.closed
		x.mu.Unlock()
		if closed {
			return nil
		}
		select {
		case <-x.wake:
		case <-x.life.Done():
			return nil
		}
	}
}

func (x *scoring) run() {
	defer close(x.done)
	for x.life.Err() == nil {
		ids := x.take()
		if ids == nil {
			return
		}
		done, err := traces.Score(x.life, x.store, x.rewards.Parts, traces.ScoreOptions{Query: trace.Query{IDs: ids}, Now: time.Now()})
		if err != nil {
			x.unheard.Add(uint64(len(ids)))
			if x.life.Err() == nil {
				x.log.Error("traces could not be scored", "traces", len(ids), "error", err)
			}
			continue
		}
		for _, count := range done.Outcomes {
			if count.Outcome == reward.Scored {
				x.scored.Add(uint64(count.N))
			} else {
				x.unscored.Add(uint64(count.N))
			}
		}
	}
}

// close scores what waits, but not for longer than that.
func (x *scoring) close(atMost time.Duration) error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
	late := time.NewTimer(atMost)
	defer late.Stop()
	select {
	case <-x.done:
	case <-late.C:
		x.stop()
		<-x.done
	}
	x.stop()
	x.mu.Lock()
	x.unheard.Add(uint64(len(x.queue)))
	x.queue = nil
	x.mu.Unlock()
	return x.rewards.Close()
}
