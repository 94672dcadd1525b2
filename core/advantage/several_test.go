package advantage_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
)

// pair is two groups of two, one step each.
func pair() *advantage.Rows {
	return &advantage.Rows{
		Group: []int32{0, 0, 1, 1}, Trajectory: []int32{0, 1, 2, 3}, Step: make([]int32, 4),
		Reward: make([]float64, 4), Score: make([]float64, 4),
	}
}

// Promise: GDPO by hand. The members of one group differ in both rewards, those of the other in
// one: grpo could not tell these groups apart if the sums were alike.
func TestGDPO(t *testing.T) {
	rows, half := pair(), math.Sqrt(0.5)
	copy(rows.AddReward("right", 1), []float64{1, 0, 1, 0})
	copy(rows.AddReward("form", 0.5), []float64{100, 0, 7, 7})
	got := estimate(t, named("gdpo"), rows)
	e := []float64{1.5 * half, -1.5 * half, half, -half}
	require.InDeltaSlice(t, e, got.Episode, 2e-6)
	std := math.Sqrt((2*1.125 + 2*0.5) / 3)
	require.InDeltaSlice(t, []float64{e[0] / std, e[1] / std, e[2] / std, e[3] / std}, got.Advantage, 4e-6)
	require.Equal(t, got.Step, got.Advantage)
	require.InDelta(t, std, got.Moments.Deviation, 4e-6)
}

// Promise: each group may have other rewards; one that does not judge a group does not count
// there.
func TestGDPOOfOtherGroups(t *testing.T) {
	rows, nan, half := pair(), math.NaN(), math.Sqrt(0.5)
	copy(rows.AddReward("right", 1), []float64{1, 0, nan, nan})
	copy(rows.AddReward("form", 2), []float64{nan, nan, 0, 1})
	require.InDeltaSlice(t, []float64{half, -half, -2 * half, 2 * half}, estimate(t, named("gdpo"), rows).Episode, 4e-6)
}

// Promise: RAE by hand. A role is compared with the same role of the other members, by what its
// own steps earned; a role that no other member played has nothing to be compared with.
func TestRAE(t *testing.T) {
	rows := &advantage.Rows{
		Group: make([]int32, 7), Trajectory: []int32{0, 0, 0, 1, 1, 2, 2}, Step: []int32{0, 1, 2, 0, 1, 0, 1},
		Role:   []string{"x", "o", "x", "x", "o", "x", "judge"},
		Reward: []float64{1, -2, 1, 0, 4, 4, 9}, Score: make([]float64, 7),
	}
	// x earned 2, 0 and 4; o earned -2 and 4.
	require.InDeltaSlice(t, []float64{0, -6, 0, -3, 6, 3, 0}, estimate(t, named("rae"), rows).Advantage, tolerance)
	cfg := named("rae")
	cfg.Singleton = advantage.SingletonRaw
	require.InDelta(t, 9, estimate(t, cfg, rows).Advantage[6], tolerance)
}

// Promise: with one role and the score as the only reward, RAE is RLOO.
func TestRAEOfOneRole(t *testing.T) {
	rows := batch(3, 4, 6, 9)
	for i := range rows.Role {
		rows.Role[i], rows.Reward[i] = "agent", 0
		if rows.Step[i] == 5 {
			rows.Reward[i] = rows.Score[i]
		}
	}
	require.InDeltaSlice(t, estimate(t, named("rloo"), rows).Advantage, estimate(t, named("rae"), rows).Advantage, tolerance)
}

// Promise: ReMax by hand. A group of one is enough, and a group whose greedy episode has no
// score takes no part: its baseline is not 0.
func TestReMax(t *testing.T) {
	rows := pair()
	rows.Group, rows.Score, rows.Greedy = []int32{0, 1, 2, 2}, []float64{1, 3, 5, 6}, []float64{0.25, 4, math.NaN(), math.NaN()}
	got := estimate(t, named("remax"), rows)
	require.Equal(t, []float64{0.75, -1, 0, 0}, got.Advantage)
	require.Equal(t, []float64{1, 1, 0, 0}, got.Weight)
}
