package train

import (
	"context"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
)

// Source gives episodes that were played before the run, by somebody else, in
// the place of an environment: traces. Its methods are for one goroutine; what
// they return is a function of the source, their arguments and the policy.
type Source interface {
	// Spec is what the policy is made for.
	Spec() env.Spec
	// Index lists what the source holds, for the run directory.
	Index() []run.TraceLine
	// Draw returns at most so many groups for iteration n, counted from 1.
	Draw(ctx context.Context, n int, seed rl.Seed, groups, members int) ([]*rl.Group, error)
	// HeldOut returns at most so many episodes of validation or test, each in a
	// group of its own; the Group of a trajectory is its task.
	HeldOut(ctx context.Context, split string, most int) ([]*rl.Group, error)
	// Experience is b corrected for who decided.
	Experience(ctx context.Context, p policy.Policy, b *credit.Batch) (*policy.Experience, *run.OffPolicy, error)
	// Weigh returns how much likelier p decides as each trajectory does than who
	// decided; nil if p cannot say.
	Weigh(ctx context.Context, p policy.Policy, all []*rl.Trajectory) ([]float64, error)
}

// estimateMetric is the metric of an evaluation on episodes that somebody else
// played: as how many of its own they count (Kish).
const estimateMetric = "effective_episodes"

// draw takes the groups of an iteration from the source.
func (l *loop) draw(ctx context.Context, it *iteration) (*Played, error) {
	n := it.line.Iteration
	groups, err := l.deps.Source.Draw(ctx, n, l.seed.Child(credit.SeedTrain), l.s.Rollout.Groups, l.s.Rollout.Members)
	if err != nil {
		return nil, err
	}
	var stats rollout.Stats
	for _, g := range groups {
		for _, t := range g.Trajectories {
			stats.Episodes++
			stats.Steps += len(t.Steps)
		}
	}
	return scored(ctx, &l.scoring, groups, stats)
}

// learn updates the policy by a batch.
func (l *loop) learn(ctx context.Context, it *iteration, b *credit.Batch) (policy.Stats, error) {
	e := b.Experience()
	if l.deps.Source != nil {
		var err error
		if e, it.line.OffPolicy, err = l.deps.Source.Experience(ctx, l.learner, b); err != nil {
			return policy.Stats{}, err
		}
	}
	if c := l.cursor.Caution; c != nil {
		e.Caution = policy.Caution{Rate: c.Rate, Clip: c.Clip}
	}
	return l.learner.Learn(ctx, e, l.seed.Path(credit.SeedUpdate, uint64(it.line.Iteration)))
}
