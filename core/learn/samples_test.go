package learn_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// played returns a group of two trajectories of two steps; the second got
// further.
func played() []*rl.Group {
	value := 0.25
	g := &rl.Group{ID: "g"}
	for i, name := range []string{"a", "b"} {
		t := &rl.Trajectory{ID: name, Group: "g", StopReason: rl.StopTruncated}
		for k := range 2 {
			o := world.observe(k * (i + 1))
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleUser, Content: rl.Text(corridor{cells: 8, text: true}.observe(k).Text)})
			t.Steps = append(t.Steps, rl.Step{
				Index: k, MessageCount: len(t.Messages), Anchor: name, Action: rl.Action{Kind: rl.ActionChoice, Choice: 1},
				LogProb: -1.1, Value: &value, ActionValid: true, Policy: &rl.Sampled{Features: o.Features, Mask: o.Mask, LogitMax: 0.5},
			})
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleAssistant, Content: rl.Text("right")})
		}
		g.Trajectories = append(g.Trajectories, t)
	}
	return []*rl.Group{g}
}

func credited(t *testing.T, groups []*rl.Group) (*align.Batch, *advantage.Result) {
	evaluations := []reward.Evaluation{
		{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: 0, IsScoreValid: true}},
		{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: 1, IsScoreValid: true}},
	}
	b, err := align.Join(align.DefaultConfig(), groups, evaluations, "")
	require.NoError(t, err)
	var r advantage.Result
	require.NoError(t, advantage.Estimate(advantage.Default(), &b.Rows, &r))
	return b, &r
}

func experience(b *align.Batch, r *advantage.Result) *policy.Experience {
	return &policy.Experience{Trajectories: b.Trajectories, First: b.First, Advantage: r.Advantage, Weight: r.Weight, Return: r.Return}
}

// Promise: an aligned batch becomes samples that the learner takes, in order,
// without the rows that have no weight, for features and for text.
func TestSamplesFromBatch(t *testing.T) {
	b, r := credited(t, played())
	s, err := learn.SamplesFrom(experience(b, r))
	require.NoError(t, err)
	require.Equal(t, 4, s.Len())
	require.Equal(t, r.Advantage, s.Advantage)
	require.Equal(t, r.Return, s.Return)
	require.Equal(t, []float64{0.25, 0.25, 0.25, 0.25}, s.Value)
	require.Equal(t, "You stand at cell 1 of 8.", s.Text[1])
	require.Equal(t, b.Steps[2].Policy.Features, s.Features[2])

	_, l := full(t)
	stats, err := l.Update(context.Background(), s, 1)
	require.NoError(t, err)
	require.Equal(t, 4, stats.Rows)
	_, reads := newLearner(t, corridor{text: true}.input(), nil, small(nil))
	_, err = reads.Update(context.Background(), s, 1)
	require.NoError(t, err)

	clear(r.Weight[:2])
	s, err = learn.SamplesFrom(experience(b, r))
	require.NoError(t, err)
	require.Equal(t, r.Advantage[2:], s.Advantage)
}

// Promise: steps that were written to a file and read back are not learned
// from: the numbers behind their decisions are gone.
func TestSamplesFromFiles(t *testing.T) {
	groups := played()
	for i, tr := range groups[0].Trajectories {
		text, err := json.Marshal(tr)
		require.NoError(t, err)
		require.NotContains(t, string(text), "sampled")
		groups[0].Trajectories[i], err = rl.DecodeTrajectory(text, 1)
		require.NoError(t, err)
	}
	_, err := learn.SamplesFrom(experience(credited(t, groups)))
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
	require.ErrorContains(t, err, "not taken by the embedded policy of this process")
}

// Promise: a step that no embedded policy took is an error that names
// trajectory and step; one without a value leaves the whole column out.
func TestSamplesFromForeignSteps(t *testing.T) {
	groups := played()
	groups[0].Trajectories[1].Steps[1].Value = nil
	b, r := credited(t, groups)
	s, err := learn.SamplesFrom(experience(b, r))
	require.NoError(t, err)
	require.Nil(t, s.Value)
	groups[0].Trajectories[1].Steps[1].Policy = nil
	_, err = learn.SamplesFrom(experience(b, r))
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
	require.ErrorContains(t, err, "trajectory b, step 1")
}
