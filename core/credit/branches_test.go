package credit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/rl"
)

// tree has an episode of three steps, a branch of it, a branch of that, and another member, as a
// language model sampled them: every sampled token has its own number.
func tree() *rl.Group {
	g, next := &rl.Group{ID: "g"}, int32(100)
	play := func(id string, from *rl.Trajectory, at int) *rl.Trajectory {
		value := 0.5
		t := &rl.Trajectory{ID: id, StopReason: rl.StopTerminated, Messages: []rl.Message{{Role: rl.RoleUser}}}
		var before []int32
		for k := range 3 {
			s := rl.Step{Index: k, MessageCount: 1 + 2*k, Anchor: fmt.Sprint(k), ActionValid: true, Value: &value, LogProb: -1}
			if from != nil && k < at {
				s = from.Steps[k]
				before = s.Prompt.Sequence(before, s.Tokens)
			} else {
				s.Prompt = rl.NewPrompt(before, append(append([]int32{}, before...), int32(k)))
				s.Tokens = []rl.Token{{ID: next, LogProb: -1}, {ID: next + 1, LogProb: -1}}
				next += 2
				before = s.Prompt.Sequence(before, s.Tokens)
			}
			t.Steps = append(t.Steps, s)
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleAssistant, Name: "one"}, rl.Message{Role: rl.RoleUser})
		}
		if from != nil {
			t.BranchOf, t.BranchAt = from.ID, at
		}
		g.Trajectories = append(g.Trajectories, t)
		return t
	}
	a := play("a", nil, 0)
	play("b", nil, 0)
	play("a1", play("a0", a, 1), 2)
	return g
}

// Promise: with every estimator, a sampled token is learned from at most once, although the
// branches of an episode contain it too, where it was given to the model.
func TestATokenIsLearnedOnce(t *testing.T) {
	greedy := 0.0
	for _, e := range advantage.Estimators() {
		g := tree()
		for _, t := range g.Trajectories {
			t.GreedyScore = &greedy
		}
		p := pipeline(judge{"a": scored(1), "b": scored(0.25), "a0": scored(0), "a1": scored(0.5)}, true)
		p.Advantage.Estimator, p.Align.EnvRewardWeight = e.Name, 1
		b, err := p.Run(t.Context(), []*rl.Group{g})
		require.NoError(t, err, e.Name)
		sequences, err := b.Experience().Sequences()
		require.NoError(t, err)
		learned, steps := map[int32]int{}, 0
		for _, s := range sequences {
			for i, id := range s.Tokens {
				learned[id] += int(s.Sampled[i])
			}
		}
		for id, n := range learned {
			require.LessOrEqual(t, n, 1, "%s: token %d", e.Name, id)
			steps += n
		}
		want := 2 * (3 + 3 + 2 + 1)
		switch e.Name {
		case "vine":
			want = 2 * (3 + 3)
		case "counterfactual":
			want = 2 // the one step of a member from whose state another one was played
		}
		require.Equal(t, want, steps, e.Name)
	}
}
