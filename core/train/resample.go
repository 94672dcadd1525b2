package train

import (
	"context"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// resample drops the groups whose members all have the same score, from which a
// comparison learns nothing, and collects others instead of those and of groups that
// were too old, as often as the settings allow. If the scores differ in no group, it
// keeps the first groups, so that an iteration has rows.
//
// Source: dynamic sampling of DAPO, arXiv 2503.14476, Section 3.2.
func (l *loop) resample(ctx context.Context, it *iteration, first credit.Scored) (credit.Scored, error) {
	want := l.s.Rollout.Groups
	kept := varied(first)
	for round := 1; round <= l.s.Train.Resample && len(kept.Groups) < want; round++ {
		more, err := l.collect(ctx, it, round)
		if err != nil {
			return kept, err
		}
		found := varied(more)
		kept.Groups = append(kept.Groups, found.Groups...)
		kept.Evaluations = append(kept.Evaluations, found.Evaluations...)
	}
	if len(kept.Groups) == 0 {
		return first, nil
	}
	if len(kept.Groups) > want {
		kept.Groups = kept.Groups[:want]
		kept.Evaluations = kept.Evaluations[:members(kept.Groups)]
	}
	return kept, nil
}

// varied returns the groups whose scored members differ in score.
func varied(s credit.Scored) (out credit.Scored) {
	scores := make([]float64, len(s.Evaluations))
	group := make([]int32, len(s.Evaluations))
	i := 0
	for g := range s.Groups {
		for range s.Groups[g].Trajectories {
			scores[i], group[i] = s.Evaluations[i].Result.Score, int32(g)
			if s.Evaluations[i].Outcome != reward.Scored {
				group[i] = -1
			}
			i++
		}
	}
	keep := advantage.GroupsWithVariance(make([]bool, len(s.Groups)), scores, group)
	i = 0
	for g := range s.Groups {
		size := len(s.Groups[g].Trajectories)
		if keep[g] {
			out.Groups = append(out.Groups, s.Groups[g])
			out.Evaluations = append(out.Evaluations, s.Evaluations[i:i+size]...)
		}
		i += size
	}
	return out
}

func members(groups []*rl.Group) (n int) {
	for _, g := range groups {
		n += len(g.Trajectories)
	}
	return n
}
