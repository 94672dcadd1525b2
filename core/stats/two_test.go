package stats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

var (
	a = []float64{0.62, 0.71, 0.55, 0.80, 0.66, 0.74, 0.59, 0.68, 0.77, 0.63}
	b = []float64{0.81, 0.79, 0.85, 0.70, 0.88, 0.83, 0.76, 0.90, 0.72, 0.84}
)

// Promise: Welch's test gives what SciPy 1.17.1 gives (ttest_ind, equal_var
// False, and its confidence_interval), and no certainty where there is none.
func TestWelch(t *testing.T) {
	for _, c := range []struct {
		name                     string
		a, b                     []float64
		difference, low, high, p float64
	}{
		{"equal sizes", a, b, 0.133, 0.0637577017, 0.2022422983, 0.0008103422},
		{"unequal sizes", []float64{3, 1, 4, 1, 5}, []float64{9, 2, 6, 5, 3, 5, 8}, 2.6285714286, -0.1350498233, 5.3921926805, 0.0600966017},
		{"one value", []float64{1, 2}, []float64{5}, 3.5, 0, 3.5, 1},
		{"none", nil, b, 0, 0, 0, 1},
		{"all equal", []float64{1, 1}, []float64{1, 1}, 0, 0, 0, 1},
		{"constants", []float64{1, 1}, []float64{2, 2}, 1, 1, 1, 0},
	} {
		difference, low, high, p := stats.Welch(c.a, c.b)
		require.InDelta(t, c.difference, difference, 1e-9, c.name)
		require.InDelta(t, c.low, low, 1e-8, c.name)
		require.InDelta(t, c.high, high, 1e-8, c.name)
		require.InDelta(t, c.p, p, 1e-9, c.name)
	}
}

// Promise: the rank-sum test gives what SciPy gives (mannwhitneyu, exact), and
// with ties twice the smaller tail of every split of the values.
func TestRankSum(t *testing.T) {
	require.InDelta(t, 0.0015046873, stats.RankSum(a, b), 1e-9)
	require.InDelta(t, 0.0015046873, stats.RankSum(b, a), 1e-9)
	require.InDelta(t, 0.0858585859, stats.RankSum([]float64{3, 1, 4, 1, 5}, []float64{9, 2, 6, 5, 3, 5, 8}), 1e-9)
	require.Equal(t, 1.0, stats.RankSum(nil, b))
	require.Equal(t, 1.0, stats.RankSum([]float64{2, 2}, []float64{2, 2, 2}))
}

// Promise: the signed-rank test gives what SciPy gives (wilcoxon: exact, and
// normal with its correction), with ties what trying every sign gives, and takes
// no notice of the order or of differences of 0.
func TestSignedRank(t *testing.T) {
	require.InDelta(t, 0.0390625, stats.SignedRank([]float64{0.3, -0.1, 0.5, 0.7, -0.2, 0.9, 1.1, 0.4}), 1e-12)
	require.InDelta(t, 0.1640625, stats.SignedRank([]float64{1, 1, -1, 2, 2, 3, 0, 0, -2, 4}), 1e-12)
	require.InDelta(t, 0.1640625, stats.SignedRank([]float64{4, -2, 0, 3, 2, 2, -1, 1, 1}), 1e-12)
	var many []float64
	for i := range 120 {
		many = append(many, float64((i*37)%101-45)/10)
	}
	require.InDelta(t, 0.1186017151, stats.SignedRank(many), 1e-8)
	require.Equal(t, 1.0, stats.SignedRank([]float64{0, 0}))
	require.Equal(t, 1.0, stats.SignedRank([]float64{1, -1}))
}

// Promise: the bootstrap's interval is SciPy's (bootstrap, BCa, of 400,000
// samples) to what chance leaves of 10,000, follows the skew of the data, and is
// the same for the same seed.
func TestBootstrap(t *testing.T) {
	skewed := []float64{1, 2, 2, 3, 3, 4, 5, 8, 13, 30, 2, 1, 4, 6, 9}
	mean, low, high := stats.Bootstrap(skewed, 1)
	require.Equal(t, 6.2, mean)
	require.InDelta(t, 3.8, low, 0.1)
	require.InDelta(t, 12.333, high, 0.4)
	require.Greater(t, high-mean, 2*(mean-low))
	_, low2, high2 := stats.Bootstrap(skewed, 1)
	require.Equal(t, [2]float64{low, high}, [2]float64{low2, high2})

	difference, low, high := stats.BootstrapDifference(a, b, nil, nil, 1)
	require.InDelta(t, 0.133, difference, 1e-12)
	require.InDelta(t, 0.0710, low, 0.003)
	require.InDelta(t, 0.1930, high, 0.003)

	for _, x := range [][]float64{nil, {7}, {7, 7, 7}} {
		mean, low, high = stats.Bootstrap(x, 1)
		require.Equal(t, [2]float64{mean, mean}, [2]float64{low, high})
	}
}

// Promise: copies of an observation do not narrow a bootstrap interval that
// knows them for copies.
func TestBootstrapOfCopies(t *testing.T) {
	var x []float64
	var keys []string
	for i, v := range a {
		for range 4 {
			x, keys = append(x, v), append(keys, string(rune('a'+i)))
		}
	}
	mean, low, high := stats.Bootstrap(a, 3)
	m, l, h := stats.ClusterBy(keys).Bootstrap(x, 3)
	require.InDeltaSlice(t, []float64{mean, low, high}, []float64{m, l, h}, 1e-12)
}

// Promise: nine in ten or more of the intervals that are to hold the mean with
// 95 % hold it, for seeds as few as ten.
func TestBootstrapHolds(t *testing.T) {
	testneeds.NotShort(t)
	x, _, _ := draws(1000) // means of 0.5
	held := 0
	for i := 0; i < len(x); i += 10 {
		if _, low, high := stats.Bootstrap(x[i:i+10], uint64(i)); low <= 0.5 && 0.5 <= high {
			held++
		}
	}
	require.GreaterOrEqual(t, held, 90)
}

// Promise: effects are Hedges' g and Cohen's h, and no number where there is none.
func TestEffect(t *testing.T) {
	g, ok := stats.Effect(a, b)
	require.True(t, ok)
	require.InDelta(t, 1.7333369135, g, 1e-9)
	g, ok = stats.Effect([]float64{1, 1}, []float64{1, 1})
	require.True(t, ok)
	require.Zero(t, g)
	for _, c := range [][2][]float64{{{1, 1}, {2, 2}}, {{1}, b}, {nil, nil}} {
		_, ok = stats.Effect(c[0], c[1])
		require.False(t, ok)
	}
	require.InDelta(t, 0.6435011088, stats.EffectOfShares(0.5, 0.8), 1e-9)
}
