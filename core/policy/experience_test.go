package policy_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// turn is a step as a model saw it: all that it was given, and what it said.
type turn struct {
	prompt []int32
	said   []rl.Token
	weight float64
}

// episode writes turns as a rollout does. The advantage of a step is its number.
func episode(turns []turn) *policy.Experience {
	t := &rl.Trajectory{ID: "t"}
	e := &policy.Experience{Trajectories: []*rl.Trajectory{t}, First: []int{0, len(turns)}}
	var before []int32
	for k, x := range turns {
		s := rl.Step{Index: k, Tokens: x.said}
		if x.prompt != nil {
			s.Prompt = rl.NewPrompt(before, x.prompt)
			before = s.Prompt.Sequence(before, x.said)
		}
		t.Steps = append(t.Steps, s)
		e.Advantage, e.Weight = append(e.Advantage, float64(k)), append(e.Weight, x.weight)
	}
	return e
}

// turns makes an episode in which the past is kept, rewritten or cut, steps say
// nothing or were not sampled by a model at all, and many are not learned from.
func turns(r *rand.Rand) (all []turn) {
	var past []int32
	token := func() int32 { return r.Int32N(4) }
	for range 1 + r.IntN(8) {
		x := turn{prompt: slices.Clone(past[:len(past)-r.IntN(1+len(past)/2)])}
		for range 1 + r.IntN(3) {
			x.prompt = append(x.prompt, token())
		}
		for range r.IntN(4) {
			x.said = append(x.said, rl.Token{ID: token(), LogProb: -r.Float64()})
		}
		switch {
		case r.IntN(8) == 0:
			x.prompt = nil
		case len(x.said) > 0:
			x.weight = float64(r.IntN(3))
		}
		if x.prompt != nil {
			past = slices.Clone(x.prompt)
			for _, t := range x.said {
				past = append(past, t.ID)
			}
		}
		all = append(all, x)
	}
	return all
}

// Promise: every token of a step with a weight is learned from once, behind
// exactly the tokens that its model was given, whatever became of the conversation
// in between; no other token is.
func TestSequencesOfOddEpisodes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		all := turns(r)
		sequences, err := episode(all).Sequences()
		require.NoError(t, err, all)
		learnt, want := 0, 0
		for _, s := range sequences {
			for _, at := range s.Sampled {
				learnt += int(at)
			}
		}
		for k, x := range all {
			if x.weight == 0 {
				continue
			}
			want += len(x.said)
			from, to := len(x.prompt), len(x.prompt)+len(x.said)
			require.True(t, slices.ContainsFunc(sequences, func(s policy.Sequence) bool {
				if len(s.Tokens) < to || !slices.Equal(s.Tokens[:from], x.prompt) {
					return false
				}
				for j, said := range x.said {
					i := from + j
					if s.Tokens[i] != said.ID || s.Sampled[i] != 1 || s.LogProb[i] != float32(said.LogProb) || s.Advantage[i] != float32(k) || s.Weight[i] != float32(x.weight) {
						return false
					}
				}
				return true
			}), "step %d of %v", k, all)
		}
		require.Equal(t, want, learnt, all)
	}
}

// Promise: a step that is to be learned from and has no tokens is named.
func TestStepsWithoutTokens(t *testing.T) {
	for _, x := range []turn{{prompt: []int32{1}, weight: 1}, {said: []rl.Token{{ID: 1}}, weight: 1}, {weight: 1}} {
		_, err := episode([]turn{{prompt: []int32{1}, said: []rl.Token{{ID: 2}}, weight: 1}, x}).Sequences()
		require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
		require.ErrorContains(t, err, "trajectory t, step 1: the step has no tokens")
	}
}
