package advantage_test

import (
	"slices"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

// Promise: a whole group that is estimated without the rest of its batch gets
// the numbers of the batch to the last bit, by every estimator.
func TestPartOfABatch(t *testing.T) {
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		rows := grown(batch(3, 4, 6, 5), 5)
		rows.Scored = make([]bool, rows.Len())
		for i := range rows.Scored {
			rows.Scored[i] = rows.Trajectory[i] != 5 && rows.Trajectory[i] != 13
		}
		whole := estimate(t, cfg, rows)
		for g := range int32(3) {
			part := new(advantage.Result)
			moments := whole.Moments
			require.NoError(t, advantage.EstimatePart(cfg, groupOf(rows, g), &moments, part))
			at := 0
			for i := range rows.Group {
				if rows.Group[i] != g {
					continue
				}
				require.Equal(t, whole.Return[i], part.Return[at])
				require.Equal(t, whole.Episode[i], part.Episode[at])
				require.Equal(t, whole.Step[i], part.Step[at])
				require.Equal(t, whole.Advantage[i], part.Advantage[at])
				require.Equal(t, whole.Weight[i] == 0, part.Weight[at] == 0)
				at++
			}
			require.Len(t, part.Advantage, at)
		}
	})
}

// Promise: without the moments of its batch, a part is refused where the
// estimator whitens, and only there.
func TestPartNeedsMoments(t *testing.T) {
	for _, e := range advantage.Estimators() {
		cfg := advantage.Default()
		cfg.Estimator = e.Name
		err := advantage.EstimatePart(cfg, batch(3, 4, 6, 5), nil, new(advantage.Result))
		if cfg.Whitens() {
			require.ErrorIs(t, err, advantage.ErrMoments)
			continue
		}
		require.NoError(t, err)
		require.Zero(t, estimate(t, cfg, batch(3, 4, 6, 5)).Moments)
	}
}

// groupOf returns the rows of one group; its trajectories are numbered from 0.
func groupOf(rows *advantage.Rows, g int32) *advantage.Rows {
	out, all := &advantage.Rows{Scored: []bool{}}, []int(nil)
	number := map[int32]int32{}
	for i := range rows.Group {
		if rows.Group[i] != g {
			continue
		}
		if _, ok := number[rows.Trajectory[i]]; !ok {
			number[rows.Trajectory[i]] = int32(len(number))
		}
		if rows.BranchOf != nil {
			of := int32(-1)
			if rows.BranchOf[i] >= 0 {
				of = number[rows.BranchOf[i]]
			}
			out.BranchOf, out.BranchAt = append(out.BranchOf, of), append(out.BranchAt, rows.BranchAt[i])
		}
		out.Group = append(out.Group, 0)
		out.Trajectory = append(out.Trajectory, number[rows.Trajectory[i]])
		out.Step = append(out.Step, rows.Step[i])
		out.Reward = append(out.Reward, rows.Reward[i])
		out.Score = append(out.Score, rows.Score[i])
		out.Anchor = append(out.Anchor, rows.Anchor[i])
		out.Scored = append(out.Scored, rows.Scored[i])
		out.Value = append(out.Value, rows.Value[i])
		all = append(all, i)
	}
	if out.BranchOf != nil && slices.Max(out.BranchOf) < 0 {
		out.BranchOf, out.BranchAt = nil, nil // as if no other group had branches
	}
	out.LogProb = picked(rows.LogProb, all)
	out.Role, out.Greedy = picked(rows.Role, all), picked(rows.Greedy, all)
	for _, x := range rows.Rewards {
		copy(out.AddReward(x.Name, x.Weight), picked(x.Score, all))
	}
	return out
}
