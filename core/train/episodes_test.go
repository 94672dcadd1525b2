package train

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/stats"
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

// Promise: clustered by task, episodes of one task count once however many starts
// it has: the interval is that of the tasks' means, and wider than that of starts.
func TestClusteredByTask(t *testing.T) {
	var starts, tasks []episode
	for i := range 40 {
		task := fmt.Sprint(i % 4)
		e := episode{start: fmt.Sprint(i), scored: true, length: 1, metrics: map[string]float64{"agreement": float64(i % 4)}}
		starts = append(starts, e)
		e.cluster = ByTask.of(&rl.Trajectory{Task: task + "/" + e.start})
		require.Equal(t, task, e.cluster)
		tasks = append(tasks, e)
	}
	require.Empty(t, byStart.of(&rl.Trajectory{Task: "a/1"}))
	a, b := score(starts), score(tasks)
	require.Zero(t, a.Clusters)
	require.Equal(t, 4, b.Clusters)
	narrow, _ := a.Metric("agreement")
	wide, _ := b.Metric("agreement")
	require.Equal(t, narrow.Mean, wide.Mean)
	of := stats.ClusterBy([]string{"0", "1", "2", "3"})
	_, low, high := of.Mean([]float64{0, 1, 2, 3})
	require.InDelta(t, low, wide.Interval[0], 1e-12)
	require.InDelta(t, high, wide.Interval[1], 1e-12)
	require.Greater(t, narrow.Interval[0], wide.Interval[0])
}

// Promise: a reward that names its metrics by the episode does not fill the
// summary with them.
func TestManyMetrics(t *testing.T) {
	var all []episode
	for i := range 1000 {
		all = append(all, episode{start: fmt.Sprint(i), scored: true, metrics: map[string]float64{fmt.Sprint("of ", i): 1, "way": 2}})
	}
	s := score(all)
	require.Len(t, s.Metrics, 256)
	way, ok := s.Metric("way")
	require.True(t, ok)
	require.Equal(t, 1000, way.Episodes)
}

// Promise: a validation in which no episode has a score does not count as
// success 0 and return 0: it is not better than a return below 0, and reaches
// no target.
func TestNoScoreIsNotTheBest(t *testing.T) {
	it := newIteration(3, run.Cursor{Best: run.Standing{Iteration: 1, Return: -5}})
	require.False(t, it.best(Config{}, run.Score{Unscored: 4}))
	require.Equal(t, run.Standing{Iteration: 1, Return: -5}, it.cursor.Best)
	require.True(t, it.best(Config{}, run.Score{Episodes: 4, Return: -4}))
}
