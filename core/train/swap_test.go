package train

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// equal scores 1 for a reply that is the ground truth, and half for one that says "please".
type equal struct{ inFlight int }

func (e equal) Info() reward.Info { return reward.Info{Name: "equal", InFlight: e.inFlight} }

func (equal) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	said, truth := t.Messages[len(t.Messages)-1].Content.Text(), string(t.GroundTruth)
	score := 0.0
	if fmt.Sprintf("%q", said) == truth {
		score = 1
	}
	if said == "please" {
		score = 0.5
	}
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true, Score: score}}
}

// replied is a group whose members reply to the same task.
func replied(truth string, replies ...string) *rl.Group {
	g := &rl.Group{ID: "g-" + truth}
	for i, text := range replies {
		g.Trajectories = append(g.Trajectories, &rl.Trajectory{
			ID: fmt.Sprintf("%s-%d", truth, i), Group: g.ID, GroundTruth: json.RawMessage(fmt.Sprintf("%q", truth)), StopReason: rl.StopTerminated,
			Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("what is " + truth + "?")}, {Role: rl.RoleAssistant, Content: rl.Text(text)}},
			Steps:    []rl.Step{{MessageCount: 1, Action: rl.Action{Kind: rl.ActionText, Text: text}}},
			Outcome:  "scored", Evaluation: &rl.EvaluateResult{Score: 1},
		})
	}
	return g
}

func swapIn(t *testing.T, most int, part equal, groups ...*rl.Group) *run.Outputs {
	l := &loop{s: Settings{Monitor: monitor.Config{Swaps: most}}, credit: credit.Pipeline{Rewards: reward.NewPool([]reward.Weighted{{Scorer: part, Weight: 1}}, 1)}}
	o := new(run.Outputs)
	require.NoError(t, l.swap(t.Context(), 1, groups, o))
	return o
}

// Promise: a right reply earns nothing with the ground truth of another task, and an exploit what it
// always earns; the prompt is that of the other task, and the trajectories of the run are unchanged.
func TestSwap(t *testing.T) {
	a, b := replied("a", "a", "a"), replied("b", "please", "please")
	before, err := json.Marshal([]*rl.Group{a, b})
	require.NoError(t, err)
	o := swapIn(t, 16, equal{}, a, b)
	require.Equal(t, []any{4, 0.25}, []any{o.Swaps, o.Swapped})
	after, err := json.Marshal([]*rl.Group{a, b})
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	one := swaps([]*rl.Group{a, b}, 1, 1)
	require.Len(t, one, 1)
	require.Equal(t, "what is b?", one[0].Messages[0].Content.Text())
	require.Equal(t, "a", one[0].Messages[1].Content.Text())
	require.Equal(t, `"b"`, string(one[0].GroundTruth))
}

// Promise: nothing is swapped among tasks with the same ground truth or without one, in episodes of
// several steps, or where an evaluation asks another machine.
func TestNothingToSwap(t *testing.T) {
	require.Zero(t, swapIn(t, 16, equal{}, replied("a", "a"), replied("a", "please")).Swaps)
	require.Zero(t, swapIn(t, 16, equal{}, replied("a", "a")).Swaps)
	require.Zero(t, swapIn(t, 0, equal{}, replied("a", "a"), replied("b", "b")).Swaps)
	require.Zero(t, swapIn(t, 16, equal{inFlight: 4}, replied("a", "a"), replied("b", "b")).Swaps)
	none, long := replied("a", "a"), replied("b", "b")
	none.Trajectories[0].GroundTruth = nil
	require.Zero(t, swapIn(t, 16, equal{}, none, long).Swaps)
	long.Trajectories[0].Steps = append(long.Trajectories[0].Steps, rl.Step{})
	require.Zero(t, swapIn(t, 16, equal{}, replied("a", "a"), long).Swaps)
}
