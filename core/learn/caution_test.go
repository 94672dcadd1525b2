package learn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// Promise: caution of a half is a learner whose rate and clip are half as
// large, bit for bit, and it ends with the samples that carry it.
func TestCautionIsRateAndClip(t *testing.T) {
	open := func(factor float64) (*learn.Policy, *learn.Learner) {
		return newLearner(t, world.input(), nil, small(func(c *learn.PPOConfig) {
			c.LearningRate, c.ClipLow, c.ClipHigh = 0.02*factor, 0.01*factor, 0.01*factor
		}))
	}
	careful, by := open(1)
	slow, plain := open(0.5)
	for i := range 2 {
		s, _ := world.play(t, slow, 40, rl.Seed(i))
		want, err := plain.Update(context.Background(), s, rl.Seed(i))
		require.NoError(t, err)
		s.Caution = policy.Caution{Rate: 0.5, Clip: 0.5}
		got, err := by.Update(context.Background(), s, rl.Seed(i))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, slow.Params(), careful.Params())
	}
	s, _ := world.play(t, careful, 40, rl.Seed(3))
	stats, err := by.Update(context.Background(), s, rl.Seed(3))
	require.NoError(t, err)
	require.Equal(t, 0.02, stats.LearningRate)
}
