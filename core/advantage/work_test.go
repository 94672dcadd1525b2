package advantage_test

import (
	"math"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

// Promise: a batch has the result that it has without a bound, or ErrWork, at
// the same number of steps each time; a result's buffers serve again after it.
func TestEstimateWithin(t *testing.T) {
	rows := &advantage.Rows{Step: make([]int32, 12), Group: make([]int32, 12), Reward: make([]float64, 12)}
	for i := range 12 {
		rows.Trajectory = append(rows.Trajectory, int32(i))
		rows.Score = append(rows.Score, float64(i%3))
		rows.Anchor = append(rows.Anchor, strings.Repeat(string(rune('a'+i%5)), 40)+strings.Repeat("z", 10*(i%2)))
	}
	cfg := advantage.Default()
	cfg.Similarity = 0.8
	var want, got advantage.Result
	require.NoError(t, advantage.Estimate(cfg, rows, &want))
	low, high := int64(0), int64(math.MaxInt32) // too few, enough
	require.ErrorIs(t, advantage.EstimateWithin(cfg, rows, &got, low), advantage.ErrWork)
	for high-low > 1 {
		middle := (low + high) / 2
		if err := advantage.EstimateWithin(cfg, rows, &got, middle); err != nil {
			require.ErrorIs(t, err, advantage.ErrWork)
			low = middle
			continue
		}
		require.Equal(t, want.Advantage, got.Advantage)
		require.Equal(t, want.AnchorGroup, got.AnchorGroup)
		high = middle
	}
	require.Greater(t, low, int64(10_000))
	cfg.Similarity = 0
	require.NoError(t, advantage.EstimateWithin(cfg, rows, &got, 0), "equal anchors cost nothing that is counted")
}
