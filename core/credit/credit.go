// Package credit is the way from played episodes to credited steps that training,
// evaluations and rollouts share: score → align → estimate → write. Groups go in,
// a Batch comes out, and nothing is kept between calls. The package also defines
// the branches of a run's seed, so that no two of them are equal.
package credit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/keptgraph"
)

// Pipeline holds everything but the episodes that credit depends on. It is safe
// for concurrent use.
type Pipeline struct {
	Rewards *reward.Pool
	Align   align.Config
	// Advantage selects the estimator. If it is nil, only episodes are scored:
	// their steps get rewards but no credit.
	Advantage *advantage.Config
	// Kept are the graphs of earlier updates, for tigpo; nil for other estimators. Assign reads
	// them, and does not add the batch.
	Kept *keptgraph.Graph
}

// Scored is groups with an evaluation for each of their trajectories, in
// group-major order.
type Scored struct {
	Groups      []*rl.Group
	Evaluations []reward.Evaluation
}

// Batch is groups as rows, with the credit of each row.
type Batch struct {
	align.Batch
	Credit advantage.Result // without rows if there is no estimator
	Kept   keptgraph.Counts // before the batch is added

	Aligning time.Duration // wall clock of the alignment, for reports only
}

// Run takes groups all the way: Score, then Assign.
func (p *Pipeline) Run(ctx context.Context, groups []*rl.Group) (*Batch, error) {
	scored, err := p.Score(ctx, groups)
	if err != nil {
		return nil, err
	}
	return p.Assign(scored)
}

// Score runs the rewards on every trajectory. It returns an error only if ctx
// ends: a reward that fails is an outcome.
func (p *Pipeline) Score(ctx context.Context, groups []*rl.Group) (Scored, error) {
	evaluations, err := p.Rewards.Evaluate(ctx, groups, nil)
	return Scored{groups, evaluations}, err
}

// Assign joins evaluations with steps, estimates advantages, and writes
// outcomes and credit into the trajectories.
//
// Where more trajectories than Align.MaxUnscored have no score the error is
// that of reward.CheckUnscored, and the batch is complete all the same. With
// every other error it is nil: advantages that are not finite are one of the
// learner, of kind fault.Numeric.
func (p *Pipeline) Assign(s Scored) (*Batch, error) {
	b := new(Batch)
	began := time.Now()
	unscored := b.Fill(p.Align, s.Groups, s.Evaluations, p.Rewards.StepIndexing())
	if errors.Is(unscored, fault.Of("", fault.Internal)) {
		return nil, unscored
	}
	b.Aligning = time.Since(began)
	if p.Advantage != nil {
		b.Kept = p.Kept.Reach(&b.Rows, nil)
		if err := advantage.Estimate(*p.Advantage, &b.Rows, &b.Credit); err != nil {
			return nil, &fault.Error{
				Boundary: fault.Learner, Kind: fault.Numeric, What: "cannot compute the advantages", Err: b.named(err),
				Hint: "correct the rewards, or set advantage.estimator to another one",
			}
		}
		b.Write(&b.Credit)
	}
	return b, unscored
}

// named returns err with the episode and step of an [advantage.RowError] instead of its row.
func (b *Batch) named(err error) error {
	var e *advantage.RowError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s, step %d: %s", b.Trajectories[b.Rows.Trajectory[e.Row]].ID, b.Rows.Step[e.Row], e.What)
}

// NeedsGreedy reports whether the estimator compares each episode with a greedy one from the
// same start: see Against.
func (p *Pipeline) NeedsGreedy() bool { return p.Advantage != nil && p.Advantage.Estimator == "remax" }

// Against notes in the members of each group what the greedy episode from the same start
// achieved: greedy has one group of one for each of groups. Nothing is learned from these
// episodes themselves. It returns the error of reward.CheckUnscored if too many of them have
// no score.
func (p *Pipeline) Against(groups []*rl.Group, greedy Scored) error {
	b, err := align.Join(p.Align, greedy.Groups, greedy.Evaluations, p.Rewards.StepIndexing())
	if err != nil {
		return err
	}
	for g, t := range b.Trajectories {
		var score *float64
		if t.Outcome == string(reward.Scored) {
			total, _ := p.Align.Totals(t)
			score = &total
		}
		for _, member := range groups[g].Trajectories {
			member.GreedyScore, member.GreedyOutcome = score, t.Outcome
		}
	}
	return nil
}

// Experience is b as a learner knows it. It shares b's memory.
func (b *Batch) Experience() *policy.Experience {
	return &policy.Experience{
		Trajectories: b.Trajectories, First: b.First,
		Advantage: b.Credit.Advantage, Weight: b.Credit.Weight, Return: b.Credit.Return,
	}
}
