package fleet

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet/queue"
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
	pool *reward.Pool // of this process, for how trajectories belong together
}

// NewScorer packs the rewards of r, which cfg configures, and gives them to f, which
// the caller closes. A scorer of this process cannot be sent, and is an error.
func NewScorer(f queue.Fleet, r *merit.Rewards, cfg *merit.Config, o CoordinatorOptions) (*Scorer, error) {
	own := *merit.DefaultConfig() // nothing plays
	own.Sandbox, own.Rewards, own.Places = cfg.Sandbox, cfg.Rewards, cfg.Places
	own.Sandbox.Workers = 0 // a worker's own
	c, err := NewCoordinator(f, &merit.Session{Rewards: r, Config: &own}, o)
	if err != nil {
		return nil, err
	}
	return &Scorer{Coordinator: c, pool: inOneSlot(r)}, nil
}

// StepIndexing implements scoring.Evaluator.
func (s *Scorer) StepIndexing() reward.StepIndexing { return s.pool.StepIndexing() }

// EvaluateAll implements scoring.Evaluator.
func (s *Scorer) EvaluateAll(ctx context.Context, trajectories []*rl.Trajectory, onResult func(i int, e reward.Evaluation)) ([]reward.Evaluation, error) {
	if onResult == nil {
		onResult = func(int, reward.Evaluation) {}
	}
	e := &errand{Scorer: s, all: trajectories, tell: onResult, out: make([]reward.Evaluation, len(trajectories))}
	for open := e.cut(); len(open) > 0; {
		e.alone = nil
		if err := e.submit(ctx, open); err != nil {
			return nil, err
		}
		open = e.alone
	}
	return e.out, ctx.Err()
}
