package reward_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// counter scores each trajectory with how many come in one call.
type counter struct{ batch int }

func (c counter) Info() reward.Info {
	return reward.Info{Name: "counter", Group: true, Entry: &reward.Entry{Function: "count", Batch: c.batch}}
}

func (c counter) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	return c.EvaluateGroup(ctx, []*rl.Trajectory{t})[0]
}

func (c counter) EvaluateGroup(_ context.Context, members []*rl.Trajectory) []reward.Evaluation {
	out := make([]reward.Evaluation, len(members))
	for i := range out {
		out[i] = reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: float64(len(members)), IsScoreValid: true}}
	}
	return out
}

// Promise: a reward that counts its batch gets as many trajectories as it says,
// whatever their groups are and at any parallelism; beside one that compares
// groups, batches are cut from each group.
func TestBatches(t *testing.T) {
	var all []*rl.Trajectory
	for i := range 7 {
		all = append(all, &rl.Trajectory{ID: fmt.Sprint(i), Group: fmt.Sprint("g", i/5)})
	}
	for _, c := range []struct {
		batches []int
		want    []float64
	}{
		{[]int{3}, []float64{3, 3, 3, 3, 3, 3, 1}},
		{[]int{1}, []float64{1, 1, 1, 1, 1, 1, 1}},
		{[]int{0}, []float64{5, 5, 5, 5, 5, 2, 2}},
		{[]int{2, 3}, []float64{5, 5, 5, 5, 5, 5, 2}},
		{[]int{0, 3}, []float64{8, 8, 8, 7, 7, 4, 4}},
	} {
		var parts []reward.Weighted
		for _, n := range c.batches {
			parts = append(parts, reward.Weighted{Scorer: counter{n}, Weight: 1})
		}
		for _, parallel := range []int{1, 3} {
			got, err := reward.NewPool(parts, parallel).EvaluateAll(t.Context(), all, nil)
			require.NoError(t, err)
			var scores []float64
			for _, e := range got {
				scores = append(scores, e.Result.Score)
			}
			require.Equal(t, c.want, scores, c.batches)
		}
	}
}
