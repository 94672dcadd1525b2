package advantage_test

import (
	"math"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

func named(estimator string) advantage.Config {
	cfg := advantage.Default()
	cfg.Estimator = estimator
	return cfg
}

// Promise: RLOO compares with the mean of the others.
func TestRLOO(t *testing.T) {
	rows := batch(1, 3, 2, 1)
	for i, r := range rows.Trajectory {
		rows.Score[i] = []float64{1, 2, 6}[r]
	}
	require.InDeltaSlice(t, []float64{-3, -3, -1.5, -1.5, 4.5, 4.5}, estimate(t, named("rloo"), rows).Advantage, tolerance)
}

// Promise: REINFORCE++ whitens the return over the whole batch.
func TestReinforcePP(t *testing.T) {
	rows := batch(3, 4, 6, 2)
	got := estimate(t, named("reinforce_pp"), rows)
	mean, square := 0.0, 0.0
	for _, a := range got.Advantage {
		mean += a
		square += a * a
	}
	require.InDelta(t, 0, mean, 1e-9)
	require.InDelta(t, 1, square/float64(rows.Len()-1), 1e-5)
	g, a := got.Return, got.Advantage
	require.InDelta(t, (g[2]-g[0])/(g[5]-g[0]), (a[2]-a[0])/(a[5]-a[0]), 1e-9)
}

// Promise: GAE by hand: a terminated end is worth 0, a truncated one its
// bootstrap value; a bootstrap elsewhere is not read.
func TestGAE(t *testing.T) {
	rows := two()
	rows.Value = []float64{0.5, 1, 2, 0.25}
	rows.Bootstrap = []float64{99, 99, 99, 4}
	rows.Terminated = []bool{false, true, false, false}
	rows.Truncated = []bool{false, true, false, true}
	cfg := named("gae")
	cfg.Gamma, cfg.Lambda = 0.5, 0.5
	got := estimate(t, cfg, rows)
	// Trajectory 0: δ1 = 1−1 = 0, δ0 = 0+0.5·1−0.5 = 0.
	// Trajectory 1: δ1 = 3+0.5·4−0.25 = 4.75, δ0 = 0+0.5·0.25−2 = −1.875.
	require.InDeltaSlice(t, []float64{0, 0, -1.875 + 0.25*4.75, 4.75}, got.Advantage, tolerance)
	require.InDeltaSlice(t, []float64{0.5, 1, 2.5, 5}, got.Return, tolerance)
}

// Promise: with λ = 1, GAE is the return less the value.
func TestGAELambdaOne(t *testing.T) {
	cfg := named("gae")
	cfg.Lambda = 1
	rows := batch(2, 3, 9, 3)
	got := estimate(t, cfg, rows)
	for i := range got.Advantage {
		require.InDelta(t, got.Return[i]-rows.Value[i], got.Advantage[i], tolerance)
	}
}

// Promise: one outcome advantage for every turn; Flow-GRPO divides by the
// deviation and weighs every trajectory the same.
func TestBroadcast(t *testing.T) {
	rows := &advantage.Rows{
		Group: make([]int32, 4), Trajectory: []int32{0, 1, 1, 1}, Step: []int32{0, 0, 1, 2},
		Reward: make([]float64, 4), Score: []float64{1, 5, 5, 5},
	}
	cfg := named("lightning")
	cfg.BaselineOver = advantage.OverSteps // has no say here
	got := estimate(t, cfg, rows)
	require.Equal(t, []float64{-2, 2, 2, 2}, got.Advantage)
	require.Equal(t, []float64{1, 1, 1, 1}, got.Weight)
	got = estimate(t, named("flow_grpo"), rows)
	a := 2 / (2*math.Sqrt2 + 1e-6)
	require.InDeltaSlice(t, []float64{-a, a, a, a}, got.Advantage, tolerance)
	require.InDeltaSlice(t, []float64{2, 2. / 3, 2. / 3, 2. / 3}, got.Weight, tolerance)
}

// Promise: HGPO by hand, three levels: the group, the state, the state with
// the one before it.
func TestHGPO(t *testing.T) {
	rows := &advantage.Rows{
		Group:      make([]int32, 6),
		Trajectory: []int32{0, 0, 1, 1, 2, 2}, Step: []int32{0, 1, 0, 1, 0, 1},
		Anchor: []string{"a", "s", "a", "s", "b", "s"},
		Reward: []float64{0, 1, 0, 3, 0, 5}, Score: []float64{1, 1, 3, 3, 5, 5},
	}
	cfg := named("hgpo")
	cfg.Gamma, cfg.History = 1, 1
	got := estimate(t, cfg, rows)
	// Weights 1 (group), 2 (state), 3 (state and the one before).
	require.InDeltaSlice(t, []float64{
		(-2 - 1*2) / 3.,       // a: returns 1, 3
		(-2 - 2*2 - 1*3) / 6., // s: returns 1, 3, 5; a,s: 1, 3
		(0 + 1*2) / 3.,        // A_E = 0
		(0 + 0*2 + 1*3) / 6.,  // middle of s, upper of a,s
		2,                     // b alone: the group
		(2 + 2*2) / 3.,        // b,s alone
	}, got.Advantage, tolerance)
	require.InDelta(t, (-2*2-1*3)/5., got.Step[1], tolerance)

	cfg.History = 0
	require.InDelta(t, (-2-2*2)/3., estimate(t, cfg, rows).Advantage[1], tolerance)
	cfg.History = 64 // deeper than any trajectory
	require.NoError(t, advantage.Estimate(cfg, rows, got))
}

// Promise: dynamic sampling keeps the groups from which something can be
// learned, and no others.
func TestGroupsWithVariance(t *testing.T) {
	scores := []float64{1, 1, 2, 2, 1, 3, 7, 8}
	group := []int32{0, 0, 1, 1, 2, 2, -1, 3}
	require.Equal(t, []bool{false, false, true, false}, advantage.GroupsWithVariance(make([]bool, 4), scores, group))
}
