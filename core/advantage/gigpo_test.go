package advantage_test

import (
	"fmt"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

// two returns one group of two trajectories of two steps; all see one state.
func two() *advantage.Rows {
	return &advantage.Rows{
		Group: make([]int32, 4), Trajectory: []int32{0, 0, 1, 1}, Step: []int32{0, 1, 0, 1},
		Anchor: []string{"a", "a", "a", "a"}, Reward: []float64{0, 1, 0, 3}, Score: []float64{1, 1, 3, 3},
	}
}

// Promise: A = A_E + ω A_S, and with ω = 0 the episode term alone.
func TestOmega(t *testing.T) {
	cfg := advantage.Default()
	cfg.Omega = 0
	rows := batch(3, 4, 6, 1)
	got := estimate(t, cfg, rows)
	require.Equal(t, got.Episode, got.Advantage)
	cfg.Omega = 2.5
	got = estimate(t, cfg, rows)
	for i := range got.Advantage {
		require.InDelta(t, got.Episode[i]+2.5*got.Step[i], got.Advantage[i], tolerance)
	}
	cfg.Omega, cfg.Combine = 0.25, advantage.CombineConvex
	got = estimate(t, cfg, rows)
	for i := range got.Advantage {
		require.InDelta(t, 0.25*got.Episode[i]+0.75*got.Step[i], got.Advantage[i], tolerance)
	}
}

// Promise: where no anchor repeats, GiGPO is GRPO.
func TestNoRepeatedAnchorIsGRPO(t *testing.T) {
	rows := batch(3, 4, 6, 2)
	for i := range rows.Anchor {
		rows.Anchor[i] = fmt.Sprint(i)
	}
	cfg := advantage.Default()
	gigpo := estimate(t, cfg, rows)
	cfg.Estimator = "grpo"
	require.Equal(t, estimate(t, cfg, rows).Advantage, gigpo.Advantage)
	require.Equal(t, 1.0, gigpo.Stats.SingletonShare)
	require.Zero(t, gigpo.Stats.StepAdvantageShare)
}

// Promise: anchors are compared inside a group only.
func TestAnchorsStayInTheirGroup(t *testing.T) {
	got := advantage.AnchorGroups(make([]int32, 4), []int32{0, 1, 0, 1}, []string{"x", "x", "y", "x"}, 0)
	require.Equal(t, []int32{0, 1, 2, 1}, got)
}

// Promise: with γ = 1 and one reward at the end, G is constant along a
// trajectory.
func TestTerminalRewardWithoutDiscount(t *testing.T) {
	cfg := advantage.Default()
	cfg.Gamma = 1
	require.Equal(t, []float64{1, 1, 3, 3}, estimate(t, cfg, two()).Return)
}

// Promise: a group of one gets 0, or its raw score if asked; over the steps of
// one trajectory the mean is the score itself.
func TestSingletons(t *testing.T) {
	rows := batch(1, 1, 3, 3)
	cfg := advantage.Default()
	require.Equal(t, []float64{0, 0, 0}, estimate(t, cfg, rows).Episode)
	cfg.Singleton = advantage.SingletonRaw
	require.Equal(t, rows.Score, estimate(t, cfg, rows).Episode)
	cfg.Normalization = advantage.MeanStdNorm
	require.InDelta(t, rows.Score[0]/(1+1e-6), estimate(t, cfg, rows).Episode[0], tolerance)
	cfg.BaselineOver = advantage.OverSteps
	require.Equal(t, []float64{0, 0, 0}, estimate(t, cfg, rows).Episode)
}

// Promise: equal scores give exactly 0, whatever their digits; rounding is not
// blown up by the division.
func TestEqualScores(t *testing.T) {
	for _, score := range []float64{0.1, 1e15, -3.3333333333333335} {
		rows := batch(2, 7, 3, 4)
		for i := range rows.Score {
			rows.Score[i], rows.Reward[i] = score, 0
		}
		cfg := advantage.Default()
		cfg.Normalization = advantage.MeanStdNorm
		got := estimate(t, cfg, rows)
		require.Equal(t, make([]float64, rows.Len()), got.Advantage)
		require.Equal(t, 1.0, got.Stats.ZeroVarianceShare)
	}
}

// Promise: the deviation has divisor n−1 and ε stands outside the root.
func TestDeviation(t *testing.T) {
	cfg := advantage.Default()
	cfg.Normalization, cfg.Epsilon = advantage.MeanStdNorm, 0.5
	got := estimate(t, cfg, two()) // scores 1 and 3: mean 2, std √2
	require.InDelta(t, -1/(1.4142135623730951+0.5), got.Episode[0], tolerance)
}

// Promise: over steps, a long trajectory weighs as many times as it has rows.
func TestBaselineOverSteps(t *testing.T) {
	rows := &advantage.Rows{
		Group: make([]int32, 4), Trajectory: []int32{0, 1, 1, 1}, Step: []int32{0, 0, 1, 2},
		Reward: make([]float64, 4), Score: []float64{1, 5, 5, 5}, Anchor: make([]string, 4),
	}
	cfg := advantage.Default()
	require.Equal(t, []float64{-2, 2, 2, 2}, estimate(t, cfg, rows).Episode)
	cfg.BaselineOver = advantage.OverSteps
	require.Equal(t, []float64{-3, 1, 1, 1}, estimate(t, cfg, rows).Episode)
}

// Promise: the penalty leaves the row's episode score and, after discounting,
// its own return only.
func TestInvalidActionPenalty(t *testing.T) {
	rows := two()
	rows.Valid = []bool{true, false, true, true}
	cfg := advantage.Default()
	cfg.Gamma = 0.5
	cfg.InvalidActionPenalty = 0.1
	got := estimate(t, cfg, rows)
	require.Equal(t, []float64{0.5, 0.9, 1.5, 3}, got.Return)
	require.InDeltaSlice(t, []float64{-1, -1.1, 1, 1}, got.Episode, tolerance)
	cfg.InvalidActionPenalty = 0
	require.Equal(t, []float64{0.5, 1, 1.5, 3}, estimate(t, cfg, rows).Return)
}

// Promise: the shares that the report shows are these.
func TestStats(t *testing.T) {
	rows := two()
	rows.Anchor = []string{"a", "b", "a", "a"}
	rows.Group = []int32{0, 0, 0, 0}
	got := estimate(t, advantage.Default(), rows).Stats
	require.Equal(t, advantage.Stats{
		Rows: 4, Trajectories: 2, Groups: 1, AnchorGroups: 2,
		SingletonShare: 0.25, StepAdvantageShare: 0.75, MeanAnchorGroup: 2,
	}, got)
}
