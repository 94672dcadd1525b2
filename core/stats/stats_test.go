package stats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
)

// Promise: the Wilson interval is that of the literature (Newcombe, Statistics
// in Medicine 17 (1998) 857–872, Table I, method 3).
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
		{29, 29, 0.8830, 1},
		{0, 0, 0, 1},
	} {
		low, high := stats.Wilson(c.k, c.n)
		require.InDelta(t, c.low, low, 5e-5, "%d of %d", c.k, c.n)
		require.InDelta(t, c.high, high, 5e-5, "%d of %d", c.k, c.n)
	}
}

// Promise: the interval of a mean uses Student's t with n−1 degrees of freedom
// (t = 2.776 for 4).
func TestMean(t *testing.T) {
	mean, low, high := stats.Mean([]float64{1, 2, 3, 4, 5})
	require.Equal(t, 3.0, mean)
	require.InDelta(t, 3-2.776445*0.7071068, low, 1e-5)
	require.InDelta(t, 3+2.776445*0.7071068, high, 1e-5)
	for _, x := range [][]float64{nil, {7}} {
		mean, low, high = stats.Mean(x)
		require.Equal(t, mean, low)
		require.Equal(t, mean, high)
	}
}

// Promise: the paired test counts discordant pairs only and is exact: 2·P(X ≤
// min) of Binomial(b+c, ½).
func TestMcNemar(t *testing.T) {
	series := func(onlyA, onlyB, both, none int) (a, b []bool) {
		add := func(n int, x, y bool) {
			for range n {
				a, b = append(a, x), append(b, y)
			}
		}
		add(onlyA, true, false)
		add(onlyB, false, true)
		add(both, true, true)
		add(none, false, false)
		return a, b
	}
	for _, c := range []struct {
		onlyA, onlyB, both, none int
		p                        float64
	}{
		{1, 9, 5, 5, 2 * 11.0 / 1024}, // (1 + 10) / 2¹⁰
		{0, 5, 0, 3, 2.0 / 32},
		{4, 4, 9, 1, 1},
		{0, 0, 3, 3, 1},
		{2, 3, 0, 0, 1},
	} {
		a, b := series(c.onlyA, c.onlyB, c.both, c.none)
		require.InDelta(t, c.p, stats.McNemar(a, b), 1e-12)
	}
	a, b := series(10, 800, 60, 130)
	require.Less(t, stats.McNemar(a, b), 1e-100)
	require.Panics(t, func() { stats.McNemar(a, b[1:]) })
}
