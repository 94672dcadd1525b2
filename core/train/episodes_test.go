package train

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
)

// Promise: what environments measure is averaged over the scored episodes that
// have it, by name.
func TestMetrics(t *testing.T) {
	s := score([]episode{
		{start: "a", scored: true, length: 1, metrics: map[string]float64{"gap": 1, "depth": 2}},
		{start: "b", scored: true, length: 1, metrics: map[string]float64{"depth": 4}},
		{start: "c", length: 1, metrics: map[string]float64{"depth": 100}},
	})
	require.Len(t, s.Metrics, 2)
	require.Equal(t, "depth", s.Metrics[0].Name)
	require.Equal(t, 2, s.Metrics[0].Episodes)
	require.Equal(t, 3.0, s.Metrics[0].Mean)
	gap, ok := s.Metric("gap")
	require.True(t, ok)
	require.Equal(t, run.Metric{Name: "gap", Mean: 1, Interval: run.Interval{1, 1}, Episodes: 1}, gap)
	_, ok = s.Metric("absent")
	require.False(t, ok)
}

// Promise: a validation in which no episode has a score is not one of success 0
// and return 0: it is no better than a return below 0, and reaches no target.
func TestNoScoreIsNotTheBest(t *testing.T) {
	it := newIteration(3, run.Cursor{Best: run.Standing{Iteration: 1, Return: -5}})
	require.False(t, it.best(Config{}, run.Score{Unscored: 4}))
	require.Equal(t, run.Standing{Iteration: 1, Return: -5}, it.cursor.Best)
	require.True(t, it.best(Config{}, run.Score{Episodes: 4, Return: -4}))
}
