package stats_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
)

// draws returns n numbers, successes and others, that look like chance.
func draws(n int) (x []float64, a, b []bool) {
	state := uint64(1)
	next := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>40) / (1 << 24)
	}
	for range n {
		x, a, b = append(x, next()), append(a, next() < 0.3), append(b, next() < 0.6)
	}
	return x, a, b
}

// Promise: where every observation is its own cluster the figures are, bit for
// bit, those of independent observations.
func TestClustersOfOne(t *testing.T) {
	x, a, b := draws(50)
	keys := make([]string, 50)
	c := stats.ClusterBy(keys)
	mean, low, high := c.Mean(x)
	m, l, h := stats.Mean(x)
	require.Equal(t, [3]float64{m, l, h}, [3]float64{mean, low, high})
	k := 0
	for _, ok := range a {
		if ok {
			k++
		}
	}
	share, low, high := c.Share(a)
	l, h = stats.Wilson(k, 50)
	require.Equal(t, [3]float64{float64(k) / 50, l, h}, [3]float64{share, low, high})
	require.Equal(t, stats.McNemar(a, b), c.Paired(a, b))

	var none stats.Clusters
	share, low, high = none.Share(nil)
	require.Equal(t, [3]float64{0, 0, 1}, [3]float64{share, low, high})
	require.Equal(t, 1.0, none.Paired(nil, nil))
}

// Promise: copies of an observation tell nothing new. Four copies of every
// episode give the interval and the p-value of the episodes themselves, and not
// one that is half as wide.
func TestCopiesTellNothing(t *testing.T) {
	x, a, b := draws(60)
	var keys []string
	var copiesX []float64
	var copiesA, copiesB []bool
	for i := range x {
		for range 4 {
			keys = append(keys, string(rune('0'+i)))
			copiesX, copiesA, copiesB = append(copiesX, x[i]), append(copiesA, a[i]), append(copiesB, b[i])
		}
	}
	c := stats.ClusterBy(keys)
	_, low, high := c.Mean(copiesX)
	_, wantLow, wantHigh := stats.Mean(x)
	require.InDelta(t, wantLow, low, 1e-9)
	require.InDelta(t, wantHigh, high, 1e-9)

	ones := stats.ClusterBy(make([]string, 60))
	_, wantLow, wantHigh = ones.Share(a)
	_, low, high = c.Share(copiesA)
	require.InDelta(t, wantLow, low, 0.005)
	require.InDelta(t, wantHigh, high, 0.005)
	require.InDelta(t, stats.McNemar(a, b), c.Paired(copiesA, copiesB), 1e-12)
	require.Less(t, stats.McNemar(copiesA, copiesB), c.Paired(copiesA, copiesB)/10)
}

// Promise: clustering never makes an interval narrower, and few or equal
// clusters give an honest one.
func TestClusterEdges(t *testing.T) {
	// Each pair of an episode that succeeds and one that fails: the clusters'
	// means do not differ, but episodes do.
	success := make([]bool, 40)
	x := make([]float64, 40)
	keys := make([]string, 40)
	for i := range success {
		success[i] = i%2 == 0
		x[i] = float64(i % 2)
		keys[i] = string(rune('a' + i/2))
	}
	c := stats.ClusterBy(keys)
	_, low, high := c.Share(success)
	wantLow, wantHigh := stats.Wilson(20, 40)
	require.LessOrEqual(t, low, wantLow)
	require.GreaterOrEqual(t, high, wantHigh)
	_, low, high = c.Mean(x)
	_, wantLow, wantHigh = stats.Mean(x)
	require.LessOrEqual(t, low, wantLow)
	require.GreaterOrEqual(t, high, wantHigh)

	all := []bool{true, true, true, true, true, true}
	_, low, high = stats.ClusterBy([]string{"a", "a", "a", "b", "b", "b"}).Share(all)
	wantLow, wantHigh = stats.Wilson(2, 2)
	require.Equal(t, [2]float64{wantLow, wantHigh}, [2]float64{low, high})
	one := stats.ClusterBy([]string{"a", "a", "a"})
	_, low, high = one.Share([]bool{true, false, true})
	require.Less(t, low, 0.2)
	require.Greater(t, high, 0.9)
	mean, low, high := one.Mean([]float64{1, 2, 3})
	require.Equal(t, [3]float64{2, 2, 2}, [3]float64{mean, low, high})
}

// Promise: the paired test flips whole clusters and is exact. Here the
// clusters differ by 2, 1 and −1: of the eight signs, six give a sum of at
// least 2 in size.
func TestPairedByCluster(t *testing.T) {
	a := []bool{false, false, false, true, true}
	b := []bool{true, true, true, false, true}
	c := stats.ClusterBy([]string{"x", "x", "y", "z", "z"})
	require.InDelta(t, brute([]int{2, 1, -1}), c.Paired(a, b), 1e-12)
	require.InDelta(t, 0.75, c.Paired(a, b), 1e-12)
	require.Equal(t, 1.0, stats.ClusterBy([]string{"x", "x"}).Paired([]bool{true, false}, []bool{false, true}))
}

// brute tries every sign.
func brute(differences []int) float64 {
	total := 0
	for _, d := range differences {
		total += d
	}
	hits := 0
	for signs := range 1 << len(differences) {
		sum := 0
		for i, d := range differences {
			if signs>>i&1 == 1 {
				d = -d
			}
			sum += d
		}
		if math.Abs(float64(sum)) >= math.Abs(float64(total)) {
			hits++
		}
	}
	return float64(hits) / float64(int(1)<<len(differences))
}
