package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
)

// Promise: a curve is straight between its points and level outside them, and
// its mean is the area under it, here by hand.
func TestCurve(t *testing.T) {
	c := Curve{{0, 0}, {100, 0.4}, {300, 0.6}}
	for steps, want := range map[float64]float64{0: 0, 50: 0.2, 100: 0.4, 200: 0.5, 300: 0.6, 900: 0.6} {
		require.InDelta(t, want, c.At(steps), 1e-12)
	}
	require.InDelta(t, (100*0.2+100*0.45)/200, c.Mean(200), 1e-12)
	require.InDelta(t, (100*0.2+200*0.5+100*0.6)/400, c.Mean(400), 1e-12)
	require.InDelta(t, 0.7, Curve{{120, 0.7}}.Mean(50), 1e-12)
}

// Promise: a measure of validations has a point where there was one, the
// untrained policy too; one of training has a point for every iteration.
func TestMeasures(t *testing.T) {
	metrics := []run.Iteration{
		{Validation: &run.Score{Success: 0.1, Return: 2}},
		{EnvSteps: 10, Advantage: &run.Advantage{SingletonShare: 0.3}},
		{EnvSteps: 20, Advantage: &run.Advantage{SingletonShare: 0.2}, Validation: &run.Score{Success: 0.5, Return: 3, Wins: &run.Wins{Rate: 0.6}}},
	}
	require.Equal(t, Curve{{0, 0.1}, {20, 0.5}}, curveOf(metrics, Success))
	require.Equal(t, Curve{{0, 2}, {20, 3}}, curveOf(metrics, "return"))
	require.Equal(t, Curve{{20, 0.6}}, curveOf(metrics, "win_rate"), "the untrained policy has no win rate")
	require.Equal(t, Curve{{10, 0.3}, {20, 0.2}}, curveOf(metrics, "singleton_share"))
}

// flat is a finished run whose validations all have the same success.
func flat(setting string, seed int, success float64) Result {
	return Result{Setting: setting, Seed: seed, Test: success, metrics: []run.Iteration{{Validation: &run.Score{Success: success}}}}
}

// Promise: settings are compared over the seeds that all of them have, and seed
// by seed: a difference that every seed shows is clear however far the seeds lie
// from each other.
func TestBeside(t *testing.T) {
	s := &Study{Seeds: 4, Settings: []Setting{{Name: "a", Title: "A"}, {Name: "b", Title: "B"}, {Name: "none"}}}
	task := TaskResults{Name: "t", Budgets: []int{50, 100}, Runs: []Result{
		flat("a", 1, 0.1), flat("a", 2, 0.5), flat("a", 3, 0.9), flat("a", 4, 0.2),
		flat("b", 1, 0.2), flat("b", 2, 0.61), flat("b", 3, 0.99),
	}}
	b := s.beside(Panel{Settings: []string{"a", "b", "none"}, Against: "a", Measure: Success}, task)
	require.Equal(t, []int{1, 2, 3}, b.Seeds)
	require.Len(t, b.Rows, 2)
	require.InDelta(t, 0.5, b.Rows[0].Mean.Mean, 1e-12)
	require.Nil(t, b.Rows[0].Difference)
	d := b.Rows[1].Difference
	require.InDelta(t, 0.1, d.Mean.Mean, 1e-12)
	require.InDelta(t, 0.1, d.Last.Mean, 1e-12)
	require.Equal(t, 1, d.Mean.Clear())
	require.Equal(t, 3, d.Won)
	require.InDelta(t, 0.25, d.P, 1e-12) // 2 of the 8 signs
	require.Less(t, b.Rows[1].Mean.Low, 0.2)
	require.Len(t, b.Rows[1].At, 2)

	require.Equal(t, 0, Estimate{0.1, -0.1, 0.3}.Clear())
	require.Equal(t, -1, Estimate{-0.2, -0.3, -0.1}.Clear())
	require.Equal(t, 0, Estimate{0.2, 0.2, 0.2}.Clear(), "one seed says nothing")
}

// Promise: a validation without a score is not a point of a curve, and a seed that
// one setting has no point of is compared for none: the others stay in pairs.
func TestNoScoreIsNoPoint(t *testing.T) {
	lost := []run.Iteration{{Validation: &run.Score{Unscored: 8}}}
	require.Empty(t, curveOf(lost, Success))
	s := &Study{Seeds: 3, Settings: []Setting{{Name: "a"}, {Name: "b"}}}
	task := TaskResults{Name: "t", Budgets: []int{50}, Runs: []Result{
		{Setting: "a", Seed: 1, metrics: lost}, flat("a", 2, 0.5), flat("a", 3, 0.6),
		flat("b", 1, 0.1), flat("b", 2, 0.7), {Setting: "b", Seed: 3, metrics: lost},
	}}
	b := s.beside(Panel{Settings: []string{"a", "b"}, Against: "a", Measure: Success}, task)
	require.Equal(t, []int{2}, b.Seeds)
	require.InDelta(t, 0.2, b.Rows[1].Difference.Mean.Mean, 1e-12)
}
