package train

import (
	"context"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// resample drops the groups whose members all score the same, which teach
// nothing by comparison, and collects others in their place, as often as the
// settings allow. If no group differs at all, the first ones are kept, so that
// an iteration always has rows.
//
// Source: dynamic sampling of DAPO, arXiv 2503.14476, Section 3.2.
func (l *loop) resample(ctx context.Context, n int, groups []*rl.Group, evaluations []reward.Evaluation) ([]*rl.Group, []reward.Evaluation, error) {
	want := len(groups)
	kept, scores := varied(groups, evaluations)
	for round := 1; round <= l.s.Train.Resample && len(kept) < want; round++ {
		more, err := l.collect(ctx, n, round)
		if err != nil {
			return nil, nil, err
		}
		found, err := l.pool.Evaluate(ctx, more, nil)
		if err != nil {
			return nil, nil, err
		}
		g, e := varied(more, found)
		kept, scores = append(kept, g...), append(scores, e...)
	}
	if len(kept) == 0 {
		return groups, evaluations, nil
	}
	if len(kept) > want {
		kept = kept[:want]
		scores = scores[:members(kept)]
	}
	return kept, scores, nil
}

// varied returns the groups whose scored members differ in score, and their
// evaluations.
func varied(groups []*rl.Group, evaluations []reward.Evaluation) ([]*rl.Group, []reward.Evaluation) {
	scores := make([]float64, len(evaluations))
	group := make([]int32, len(evaluations))
	i := 0
	for g := range groups {
		for range groups[g].Trajectories {
			scores[i], group[i] = evaluations[i].Result.Score, int32(g)
			if evaluations[i].Outcome != reward.Scored {
				group[i] = -1
			}
			i++
		}
	}
	keep := advantage.GroupsWithVariance(make([]bool, len(groups)), scores, group)
	var outGroups []*rl.Group
	var out []reward.Evaluation
	i = 0
	for g := range groups {
		size := len(groups[g].Trajectories)
		if keep[g] {
			outGroups = append(outGroups, groups[g])
			out = append(out, evaluations[i:i+size]...)
		}
		i += size
	}
	return outGroups, out
}

func members(groups []*rl.Group) (n int) {
	for _, g := range groups {
		n += len(g.Trajectories)
	}
	return n
}
