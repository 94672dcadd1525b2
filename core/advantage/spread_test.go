package advantage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
)

// Promise: a spread is that by which advantages are made, bit by bit, and a row
// outside of every group is in none.
func TestSpreads(t *testing.T) {
	x, group := []float64{1, 0.1, 0.7, 5, 2}, []int32{0, 0, 0, -1, 1}
	all := advantage.Spreads(x, group, nil)
	require.Equal(t, []int{3, 1}, []int{all[0].N, all[1].N})
	require.Equal(t, advantage.Spread{N: 1, Mean: 2}, all[1])
	require.True(t, all[0].Varied)
	norm := advantage.Norm{Normalization: advantage.MeanStdNorm, Epsilon: 1e-6}
	got := advantage.EpisodeAdvantages(make([]float64, len(x)), x, group, nil, norm)
	for i := range 3 {
		require.Equal(t, got[i], (x[i]-all[0].Mean)/(all[0].Deviation+norm.Epsilon))
	}
	votes := advantage.Spreads(x, group, []bool{true, false, true, true, false})
	require.Equal(t, 2, votes[0].N)
	require.InDelta(t, 0.85, votes[0].Mean, 1e-15)
	require.Equal(t, advantage.Spread{}, votes[1])
}
