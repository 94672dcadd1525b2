package advantage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

const tolerance = 1e-9

func estimate(t *testing.T, cfg advantage.Config, rows *advantage.Rows) *advantage.Result {
	t.Helper()
	res := new(advantage.Result)
	require.NoError(t, advantage.Estimate(cfg, rows, res))
	return res
}

// everyConfig calls check with every estimator, normalization and scope.
func everyConfig(t *testing.T, check func(t *testing.T, cfg advantage.Config)) {
	for _, name := range advantage.Names() {
		for _, normalization := range []advantage.Normalization{advantage.MeanNorm, advantage.MeanStdNorm} {
			for _, scope := range []advantage.Scope{advantage.OverTrajectories, advantage.OverSteps} {
				cfg := advantage.Default()
				cfg.Estimator, cfg.Normalization, cfg.BaselineOver = name, normalization, scope
				t.Run(name+"/"+string(normalization)+"/"+string(scope), func(t *testing.T) { check(t, cfg) })
				if cfg.Episode = "batch"; cfg.Whitens() && !whitens(name) {
					t.Run(name+"/batch/"+string(normalization)+"/"+string(scope), func(t *testing.T) { check(t, cfg) })
				}
			}
		}
	}
}

// whitens reports whether an estimator whitens by itself.
func whitens(name string) bool {
	cfg := advantage.Default()
	cfg.Estimator = name
	return cfg.Whitens()
}

// Promise: adding a constant to all scores changes no advantage, except for the estimators to
// which 0 is the score of a failure.
func TestInvarianceToAConstant(t *testing.T) {
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		if slices.Contains([]string{"graphgpo", "g2po", "maxrl", "remax"}, cfg.Estimator) {
			return
		}
		rows := batch(3, 4, 6, 1)
		want := estimate(t, cfg, rows)
		for i := range rows.Score {
			rows.Score[i] += 17.25
		}
		require.InDeltaSlice(t, want.Advantage, estimate(t, cfg, rows).Advantage, tolerance)
	})
}

// Promise: rows may come in any order, and each gets the advantage that it
// would get in any other.
func TestEquivarianceUnderPermutation(t *testing.T) {
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		rows := grown(batch(3, 4, 6, 2), 2)
		rows.Valid = make([]bool, rows.Len())
		for i := range rows.Valid {
			rows.Valid[i] = i%5 != 0
		}
		cfg.InvalidActionPenalty = 0.1
		want := estimate(t, cfg, rows)
		perm := rand.New(rand.NewPCG(3, 3)).Perm(rows.Len())
		got := estimate(t, cfg, permuted(rows, perm))
		for at, from := range perm {
			require.InDelta(t, want.Return[from], got.Return[at], tolerance)
			require.InDelta(t, want.Advantage[from], got.Advantage[at], tolerance)
			require.InDelta(t, want.Weight[from], got.Weight[at], tolerance)
		}
		require.Equal(t, want.Stats, got.Stats)
	})
}

// Promise: anchors and contexts are found again though groups are large, their
// members partly unscored, and memory of finished groups is let go: the same
// batch in another order, where nothing is let go, agrees.
func TestLargeGroups(t *testing.T) {
	rows := batch(3, 6, 700, 8)
	rows.Scored = make([]bool, rows.Len())
	for i := range rows.Anchor {
		rows.Anchor[i] = fmt.Sprint(rows.Step[i], rows.Trajectory[i]%2)
		rows.Scored[i] = rows.Trajectory[i]%6 != 3
	}
	backwards := make([]int, rows.Len())
	for i := range backwards {
		backwards[i] = rows.Len() - 1 - i
	}
	for _, name := range []string{"gigpo", "hgpo", "graphgpo", "g2po", "gagpo"} {
		want := estimate(t, named(name), rows)
		got := estimate(t, named(name), permuted(rows, backwards))
		require.Equal(t, want.Stats, got.Stats)
		require.Equal(t, 4200, got.Stats.AnchorGroups)
		for at, from := range backwards {
			require.InDelta(t, want.Advantage[from], got.Advantage[at], tolerance)
		}
	}
}

func permuted(r *advantage.Rows, perm []int) *advantage.Rows {
	out := &advantage.Rows{
		Group: picked(r.Group, perm), Trajectory: picked(r.Trajectory, perm), Step: picked(r.Step, perm),
		Reward: picked(r.Reward, perm), Score: picked(r.Score, perm), Anchor: picked(r.Anchor, perm),
		Valid: picked(r.Valid, perm), Value: picked(r.Value, perm), Scored: picked(r.Scored, perm),
		Role: picked(r.Role, perm), Greedy: picked(r.Greedy, perm),
		BranchOf: picked(r.BranchOf, perm), BranchAt: picked(r.BranchAt, perm), LogProb: picked(r.LogProb, perm),
	}
	for _, x := range r.Rewards {
		copy(out.AddReward(x.Name, x.Weight), picked(x.Score, perm))
	}
	return out
}

func picked[T any](s []T, perm []int) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(perm))
	for at, from := range perm {
		out[at] = s[from]
	}
	return out
}

// Promise: an unscored trajectory changes nothing for the others and gets 0
// with weight 0.
func TestUnscoredTakesNoPart(t *testing.T) {
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		rows := batch(3, 4, 6, 4)
		without := estimate(t, cfg, rows)
		perm := make([]int, 0, rows.Len()+6)
		for range 6 { // a trajectory more, in front, in group 0, at known anchors
			perm = append(perm, len(perm))
		}
		for i := range rows.Len() {
			perm = append(perm, i)
		}
		more := permuted(rows, perm)
		more.Scored = make([]bool, more.Len())
		for i := range more.Scored {
			more.Scored[i] = i >= 6
			if i < 6 {
				more.Trajectory[i], more.Score[i], more.Reward[i] = 12, 1e6, -1e6
			}
		}
		got := estimate(t, cfg, more)
		require.InDeltaSlice(t, without.Advantage, got.Advantage[6:], tolerance)
		require.Equal(t, without.AnchorGroup, got.AnchorGroup[6:])
		require.InDeltaSlice(t, without.Weight, got.Weight[6:], tolerance)
		for i := range 6 {
			require.Zero(t, got.Episode[i])
			require.Zero(t, got.Step[i])
			require.Zero(t, got.Advantage[i])
			require.Zero(t, got.Weight[i])
			require.EqualValues(t, -1, got.AnchorGroup[i])
		}
		require.Equal(t, 1, got.Stats.Unscored)
	})
}

// Promise: inputs are not written to, and a reused Result gives the same
// numbers as a new one.
func TestInputsStayAndBuffersAreReused(t *testing.T) {
	var reused advantage.Result
	everyConfig(t, func(t *testing.T, cfg advantage.Config) {
		cfg.InvalidActionPenalty = 0.1
		rows := grown(batch(2, 3, 5, 5), 5)
		rows.Valid = make([]bool, rows.Len())
		all := make([]int, rows.Len())
		for i := range all {
			all[i] = i
		}
		before := permuted(rows, all)
		require.NoError(t, advantage.Estimate(cfg, rows, &reused))
		require.Equal(t, before, permuted(rows, all))
		fresh := estimate(t, cfg, rows)
		require.Equal(t, fresh.Advantage, reused.Advantage)
		require.Equal(t, fresh.Stats, reused.Stats)
	})
}

// Promise: over trajectories without division, episode advantages of a group
// sum to zero; so do step advantages of an anchor group.
func TestZeroSum(t *testing.T) {
	rows := batch(3, 4, 6, 6)
	got := estimate(t, advantage.Default(), rows)
	groups, anchors := make([]float64, 3), make([]float64, slices.Max(got.AnchorGroup)+1)
	for i := range got.Advantage {
		if rows.Step[i] == 0 {
			groups[rows.Group[i]] += got.Episode[i]
		}
		anchors[got.AnchorGroup[i]] += got.Step[i]
	}
	require.InDeltaSlice(t, make([]float64, len(groups)), groups, tolerance)
	require.InDeltaSlice(t, make([]float64, len(anchors)), anchors, tolerance)
}

// Promise: a thousand rows more cost no allocation more.
func TestNoAllocationsPerRow(t *testing.T) {
	cfg := advantage.Default()
	allocations := func(rows *advantage.Rows) float64 {
		var res advantage.Result
		return testing.AllocsPerRun(20, func() {
			require.NoError(t, advantage.Estimate(cfg, rows, &res))
		})
	}
	require.LessOrEqual(t, allocations(batch(32, 8, 16, 7)), allocations(batch(1, 8, 16, 7))+2)
}
