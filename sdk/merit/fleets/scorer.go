package fleets

import (
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/core/processors"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sdk/merit"
)

// ScoreChunk is how many trajectories a Scorer is best given at one time: enough
// for some dozen workers.
const ScoreChunk = 8192

// Scorer has a fleet score trajectories: it is a scoring.Evaluator, whose
// evaluations are those of this process but for the wall clock. What the workers
// cannot score has the outcome Infrastructure.
type Scorer struct {
	*Coordinator
	pool  *reward.Pool // of this process
	group bool

	measure sync.Once
	here    time.Duration // that an evaluation takes in this process; 0 is unknown
}

// NewScorer packs the rewards of r, which cfg configures, and gives them to f, which
// the caller closes. A scorer of this process cannot be sent, and is an error.
func NewScorer(ctx context.Context, f fleet.Fleet, r *merit.Rewards, cfg *merit.Config, o CoordinatorOptions) (*Scorer, error) {
	own := *merit.DefaultConfig() // nothing plays
	own.Sandbox, own.Rewards, own.Places = cfg.Sandbox, cfg.Rewards, cfg.Places
	own.Sandbox.Workers = 0 // a worker's own
	c, err := coordinate(ctx, f, &merit.Session{Rewards: r, Config: &own}, o)
	if err != nil {
		return nil, err
	}
	return &Scorer{Coordinator: c, pool: inOneSlot(r), group: r.Group()}, nil
}

// StepIndexing implements scoring.Evaluator.
func (s *Scorer) StepIndexing() reward.StepIndexing { return s.pool.StepIndexing() }

// EvaluateAll implements scoring.Evaluator.
func (s *Scorer) EvaluateAll(ctx context.Context, trajectories []*rl.Trajectory, onResult func(i int, e reward.Evaluation)) ([]reward.Evaluation, error) {
	if onResult == nil {
		onResult = func(int, reward.Evaluation) {}
	}
	e := &errand{Scorer: s, all: trajectories, tell: onResult, out: make([]reward.Evaluation, len(trajectories)), places: make(chan struct{}, processors.Count())}
	for open := e.cut(); len(open) > 0; {
		e.again = nil
		if err := e.submit(ctx, open); err != nil {
			return nil, err
		}
		open = e.again
	}
	s.measure.Do(func() { s.measureHere(ctx, trajectories) })
	return e.out, ctx.Err()
}

// measureFor is about how long measuring takes, in which shards wait.
const measureFor = 50 * time.Millisecond

// measureHere finds out how long an evaluation takes in this process, by the first
// trajectories. Rewards that ask somebody are not measured: that costs, and workers
// may have keys that this process lacks.
func (s *Scorer) measureHere(ctx context.Context, trajectories []*rl.Trajectory) {
	for _, p := range s.pool.Parts() {
		if p.Scorer.Info().InFlight > 0 {
			return
		}
	}
	if s.group || len(trajectories) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*measureFor)
	defer cancel()
	s.pool.EvaluateUnit(ctx, trajectories[:1]) // the first one starts an instance
	n, began := 0, time.Now()
	for _, t := range trajectories[1:] {
		s.pool.EvaluateUnit(ctx, []*rl.Trajectory{t})
		if n++; time.Since(began) > measureFor {
			break
		}
	}
	if ctx.Err() == nil {
		s.here = time.Since(began) / time.Duration(n)
	}
}

// Here returns how long an evaluation takes in this process, as it was measured
// after the first EvaluateAll; 0 if it was not.
func (s *Scorer) Here() time.Duration { return s.here }
