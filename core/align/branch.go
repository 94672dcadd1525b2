package align

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// branch fills Rows.BranchOf, Rows.BranchAt and Rows.LogProb if the groups have branches. One that does not fit
// the episode it left is Unaligned.
func (b *Batch) branch(groups []*rl.Group) {
	if !slices.ContainsFunc(b.Trajectories, func(t *rl.Trajectory) bool { return t.BranchOf != "" }) {
		return
	}
	r := &b.Rows
	r.BranchOf, r.BranchAt = make([]int32, len(b.Steps)), make([]int32, len(b.Steps))
	r.LogProb = make([]float64, len(b.Steps))
	for i, s := range b.Steps {
		r.LogProb[i] = s.LogProb
	}
	first := 0
	for _, g := range groups {
		number := make(map[string]int, len(g.Trajectories))
		for k, t := range g.Trajectories {
			i := first + k
			of, problem := -1, ""
			if t.BranchOf != "" {
				of, problem = b.left(t, number)
			}
			if problem != "" {
				of = -1
				b.unscore(i, problem)
			}
			for row := b.First[i]; row < b.First[i+1]; row++ {
				r.BranchOf[row] = int32(of)
				if of >= 0 {
					r.BranchAt[row] = int32(t.BranchAt)
				}
			}
			number[t.ID] = i
		}
		first += len(g.Trajectories)
	}
}

// left returns the number of the trajectory that t left, among those before it in its group, or
// what is wrong.
func (b *Batch) left(t *rl.Trajectory, number map[string]int) (int, string) {
	of, ok := number[t.BranchOf]
	if !ok {
		return 0, fmt.Sprintf("it branches off %q, which does not precede it in its group", t.BranchOf)
	}
	from := b.Trajectories[of]
	if at := t.BranchAt; at < 0 || at >= len(t.Steps) || at >= len(from.Steps) {
		return 0, fmt.Sprintf("it branches off %q at step %d, but they have %d and %d steps", t.BranchOf, at, len(t.Steps), len(from.Steps))
	}
	for k := range t.BranchAt {
		if x, y := &t.Steps[k], &from.Steps[k]; x.Anchor != y.Anchor || x.Action.Text != y.Action.Text || x.EnvReward != y.EnvReward {
			return 0, fmt.Sprintf("it branches off %q at step %d, but differs from it at step %d", t.BranchOf, t.BranchAt, k)
		}
	}
	return of, ""
}

// unscore takes the score from trajectory i.
func (b *Batch) unscore(i int, why string) {
	e, t := &b.Evaluations[i], b.Trajectories[i]
	if e.Outcome != reward.Scored {
		return
	}
	*e = unaligned(*e, t, why)
	for row := b.First[i]; row < b.First[i+1]; row++ {
		b.Rows.Scored[row], b.Rows.Reward[row], b.Rows.Score[row] = false, 0, 0
	}
	t.Outcome, t.Evaluation = string(e.Outcome), nil
}
