package reward_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/stretchr/testify/require"
)

// sharing prepares a trajectory once for all scorers and counts how often.
type sharing struct {
	part
	prepared *atomic.Int32
}

func (s sharing) EvaluateEach(ctx context.Context, scorers []reward.Scorer, t *rl.Trajectory) []reward.Evaluation {
	s.prepared.Add(1)
	var out []reward.Evaluation
	for _, x := range scorers {
		out = append(out, x.Evaluate(ctx, t))
	}
	return out
}

// Promise: a composition prepares each trajectory once if its rewards can
// share that, and says the same as one that does not.
func TestSharedPreparation(t *testing.T) {
	apart := []reward.Weighted{named("a", scored(1)), named("b", scored(math.NaN())), named("c", scored(4))}
	var prepared atomic.Int32
	together := append([]reward.Weighted{}, apart...)
	together[0].Scorer = sharing{apart[0].Scorer.(part), &prepared}
	groups := groupsOf(3, 4)

	want, err := reward.NewPool(apart, 2).Evaluate(context.Background(), groups, nil)
	require.NoError(t, err)
	got, err := reward.NewPool(together, 2).Evaluate(context.Background(), groups, nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, reward.ABIViolation, got[0].Outcome)
	require.EqualValues(t, 12, prepared.Load())
}
