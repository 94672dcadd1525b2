package fleet

import (
	"context"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// ScoreChunk is a good number of trajectories for one call of EvaluateAll: enough for a few
// dozen workers.
const ScoreChunk = 8192

// Scorer scores trajectories on a fleet. It is a scoring.Evaluator whose evaluations equal
// those of this process, except for the wall-clock time. Trajectories that the workers cannot
// score have the outcome Infrastructure.
type Scorer struct {
	*Coordinator
	pool *reward.Pool // of this process; determines which trajectories form a unit
}

// NewScorer packs the rewards of r, which cfg configures, for the fleet f. The caller closes f.
// It returns an error if a scorer runs inside this process, because it cannot be sent.
func NewScorer(f queue.Fleet, r *merit.Rewards, cfg *merit.Config, o CoordinatorOptions) (*Scorer, error) {
	own := *merit.DefaultConfig() // without an environment
	own.Sandbox, own.Rewards, own.Places = cfg.Sandbox, cfg.Rewards, cfg.Places
	own.Sandbox.Workers = 0 // each worker uses its own
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
	e := &batch{Scorer: s, all: trajectories, tell: onResult, out: make([]reward.Evaluation, len(trajectories))}
	for open := e.cut(); len(open) > 0; {
		e.alone = nil
		if err := e.submit(ctx, open); err != nil {
			return nil, err
		}
		open = e.alone
	}
	return e.out, ctx.Err()
}
