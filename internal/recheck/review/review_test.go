package review_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/recheck/review"
)

func scored(id string, score float64, steps ...rl.StepOutput) scoring.Result {
	return scoring.Result{ID: id, Outcome: reward.Scored, Score: &score, StepOutputs: steps}
}

func trapped(id string) scoring.Result {
	return scoring.Result{ID: id, Outcome: reward.Trap, Reason: "lost"}
}

// above is the next number after 0.3.
var above = math.Nextafter(0.3, 1)

func step(index int, base float64) rl.StepOutput {
	return rl.StepOutput{StepIndex: rl.StepIndex(index), BaseReward: base}
}

// Promise: equal results do not differ, whatever their reasons and costs.
func TestEqual(t *testing.T) {
	a := []scoring.Result{scored("x", 0.1, step(0, 0.1)), trapped("y")}
	b := []scoring.Result{scored("x", 0.1, step(0, 0.1)), trapped("y")}
	b[0].Reason, b[0].Fuel = "other words", 7
	r := review.Compare(a, b)
	require.False(t, r.Differs())
	require.Equal(t, 2, r.Compared)
	require.Equal(t, 1, r.Reasons)
}

// Promise: changes are listed, the largest first: outcomes, scores, rewards of steps, metrics,
// and trajectories on one side only; a missing score is not compared as 0.
func TestChanges(t *testing.T) {
	a := []scoring.Result{scored("small", above), scored("large", 1), trapped("y"), scored("gone", 1), scored("steps", 1, step(0, 1), step(1, 2)), scored("same", 4), scored("m", 0)}
	b := []scoring.Result{scored("large", -1), scored("small", 0.3), scored("y", 5), scored("steps", 1, step(1, 2.5), step(2, 9)), scored("same", 4), scored("new", 3), scored("m", 0)}
	a[6].Metrics = rl.Metrics{{Name: "length", Score: 3, IsScoreValid: true}}
	r := review.Compare(a, b)
	require.True(t, r.Differs())
	require.Equal(t, []review.Score{{"large", 1, -1}, {"small", above, 0.3}}, r.Scores)
	require.Equal(t, []review.Outcome{{"y", reward.Trap, reward.Scored, "lost", ""}}, r.Outcomes)
	require.Equal(t, []string{"gone"}, r.OnlyA)
	require.Equal(t, []string{"new"}, r.OnlyB)
	require.Equal(t, 1, r.Metrics)
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprint(s.Index, s.A == nil, s.B == nil))
	}
	require.Equal(t, []string{"2 true false", "0 false true", "1 false false"}, steps)
	require.Equal(t, 6, r.A.Scored)
	require.Nil(t, review.Compare(nil, nil).A.Mean)
}

// Promise: the advantages of both sides equal hand computations, those that changed sign come
// first, and a conversation without steps has one for each message of the assistant.
func TestAdvantages(t *testing.T) {
	var all []*rl.Trajectory
	for _, id := range []string{"a", "b", "alone"} {
		all = append(all, &rl.Trajectory{ID: id, Group: "g" + id[1:], StopReason: rl.StopTerminated, Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text("?")}, {Role: rl.RoleAssistant, Content: rl.Text(id)},
		}})
	}
	all = append(all, &rl.Trajectory{ID: "c", Group: "g", Messages: all[0].Messages})
	credit := review.Credit{Align: align.DefaultConfig(), Advantage: advantage.Default()}
	credit.Advantage.Estimator = "grpo" // score − mean
	before := []scoring.Result{scored("a", 1), scored("b", 0), scored("c", 2), scored("alone", 5)}
	now := []scoring.Result{scored("a", 1), scored("b", 5), trapped("c"), scored("alone", 6)}

	// Means 1 and 3: a 0 → −2, b −1 → 2, c 1 → none, which is 0.
	got, err := review.CompareAdvantages(credit, all, before, now)
	require.NoError(t, err)
	require.Equal(t, &review.Advantages{Estimator: "grpo", Groups: 1, Steps: 3, Flipped: 1, Changed: []review.Advantage{
		{"g", "b", 0, -1, 2}, {"g", "a", 0, 0, -2}, {"g", "c", 0, 1, 0},
	}}, got)
	require.Empty(t, all[0].Steps, "nothing is written into what is compared")

	none, err := review.CompareAdvantages(credit, all[2:3], before, now)
	require.NoError(t, err)
	require.Nil(t, none)
	credit.Advantage.Estimator = "gae"
	_, err = review.CompareAdvantages(credit, all, before, now)
	require.ErrorContains(t, err, "value")
}
