package stats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
)

// Promise: correlations, with ties and without, and differences are what SciPy
// 1.17.1 gives (pearsonr, spearmanr, rankdata; numpy's mean of abs), also where
// squares would overflow.
func TestAgreement(t *testing.T) {
	var x60, y60 []float64
	for i := range 60 {
		x60, y60 = append(x60, float64(i*37%101)/10), append(y60, float64(i*i*7%53))
	}
	for _, c := range []struct {
		name                      string
		x, y                      []float64
		pearson, spearman, differ float64
	}{
		{"no ties", []float64{0.1, 0.4, 0.35, 0.8}, []float64{0.2, 0.3, 0.5, 0.9}, 0.9336726004, 0.8, 0.1125},
		{"ties", []float64{1, 1, 2, 3, 3, 3}, []float64{2, 1, 2, 2, 5, 4}, 0.7206037586, 0.7541997112, 5. / 6},
		{"reverse", []float64{1, 2, 3, 4, 5}, []float64{10, 8, 6.5, 6, 1}, -0.9449111825, -1, 4.9},
		{"halves", []float64{0.5, 0, 1, 0.5, 0.5, 1}, []float64{0.25, 0.25, 1, 0.75, 0.5, 0.5}, 0.6439209162, 0.6515327693, 0.2083333333},
		{"sixty", x60, y60, -0.1030492039, -0.0978661483, 20.495},
	} {
		for range 2 { // both ways
			r, ok := stats.Pearson(c.x, c.y)
			require.True(t, ok, c.name)
			require.InDelta(t, c.pearson, r, 1e-9, c.name)
			rho, ok := stats.Spearman(c.x, c.y)
			require.True(t, ok, c.name)
			require.InDelta(t, c.spearman, rho, 1e-9, c.name)
			require.InDelta(t, c.differ, stats.MeanAbsoluteDifference(c.x, c.y), 1e-9, c.name)
			c.x, c.y = c.y, c.x
		}
	}
	r, ok := stats.Pearson([]float64{1e200, 3e200, 2e200}, []float64{1e-200, 2e-200, 2e-200})
	require.True(t, ok)
	require.InDelta(t, 0.8660254038, r, 1e-9)
	order := []float64{1, 2, 3, 4, 5, 6}
	of, _ := stats.Spearman([]float64{0.5, 0, 1, 0.5, 0.5, 1}, order)
	ranks, _ := stats.Pearson([]float64{3, 1, 5.5, 3, 3, 5.5}, order)
	require.Equal(t, ranks, of, "equal values share the mean of their ranks")
}

// Promise: where nothing varies there is no correlation, not one of 0; a third
// of rounding does not count as varying.
func TestNoCorrelation(t *testing.T) {
	for _, c := range [][2][]float64{{nil, nil}, {{1}, {2}}, {{1, 1, 1}, {1, 2, 3}}, {{1, 2, 3}, {0.1, 0.1, 0.1}}} {
		_, ok := stats.Pearson(c[0], c[1])
		require.False(t, ok)
		_, ok = stats.Spearman(c[0], c[1])
		require.False(t, ok)
	}
	require.Zero(t, stats.MeanAbsoluteDifference(nil, nil))
	require.Panics(t, func() { stats.Spearman([]float64{1, 2}, []float64{1, 2, 3}) })
	require.Panics(t, func() { stats.MeanAbsoluteDifference([]float64{1}, nil) })
}
