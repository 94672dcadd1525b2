package train

import (
	"context"
	"fmt"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
)

// compareGreedy plays one greedy episode from each start of plan, if the estimator needs it,
// and notes its score in the members of the group. Nothing is learned from the episode
// itself. If too many of them have no score, the error says why.
func (l *loop) compareGreedy(ctx context.Context, it *iteration, plan rollout.Plan, groups []*rl.Group) error {
	if !l.credit.NeedsGreedy() {
		return nil
	}
	plan.Members, plan.Greedy, plan.Branch, plan.Prefix = 1, true, false, fmt.Sprintf("greedy-%d-", it.line.Iteration)
	cost := &it.line.Cost
	p, err := l.play(ctx, l.player, plan, "greedy", &cost.Collect, &cost.Score)
	if err != nil {
		return err
	}
	it.cursor.EnvSteps += uint64(p.Steps)
	it.line.Time.Score += p.Scoring.Seconds()
	it.line.Time.CPU.Score += p.ScoringCPU
	return l.credit.Against(groups, p.Scored)
}
