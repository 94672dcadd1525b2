package monitor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
)

// said is a scored trajectory that writes texts.
func said(id, group string, score, env float64, texts ...string) *rl.Trajectory {
	t := &rl.Trajectory{ID: id, Group: group, Outcome: scored, Evaluation: &rl.EvaluateResult{Score: score}}
	for i, text := range texts {
		t.Steps = append(t.Steps, rl.Step{Index: i, Action: rl.Action{Kind: rl.ActionText, Text: text}, EnvReward: env / float64(len(texts))})
	}
	return t
}

// Promise: what is measured of an iteration are these numbers, by hand: of
// scored trajectories only, groups being the units of the error.
func TestMeasure(t *testing.T) {
	unscored := said("x", "b", 9, 9, "never")
	unscored.Outcome = "trap"
	o := Measure([]*rl.Trajectory{
		said("a0", "a", 1, 0.5, "the cat, the cat the cat"), // pairs: the-cat ×3, cat-the ×2
		said("a1", "a", 1, 0.5, "The CAT the cat", "the cat"),
		said("b0", "b", 0, 0, "one two three four five six"),
		unscored,
		said("b1", "b", 0, 0, "one"),
	})
	require.Equal(t, 2, o.Groups)
	require.Equal(t, []float64{0.5, 0.5, 0.5, 0.25}, []float64{o.Score, o.ScoreStd, o.Top, o.EnvReward})
	require.InDelta(t, 0.5, o.ScoreError, 1e-12)               // of the means 1 and 0: √½ ÷ √2
	require.Equal(t, 19.0/4, o.Words)                          // 6 + 6 + 6 + 1
	require.InDelta(t, (2.0/5+2.0/5+1+1)/4, o.Distinct, 1e-12) // of pairs
	require.InDelta(t, (1.0/2+1)/2, o.Different, 1e-12)        // the members of a say the same
	require.Nil(t, Measure([]*rl.Trajectory{unscored}))
}

// Promise: where a policy chooses, its words count as nothing, and a state
// that it comes back to counts as revisited.
func TestMeasureChoices(t *testing.T) {
	x := &rl.Trajectory{ID: "a", Outcome: scored, Evaluation: &rl.EvaluateResult{}, Metrics: map[string]float64{"solved": 1}}
	for _, state := range []string{"A", "B", "A", "B", "C"} {
		x.Steps = append(x.Steps, rl.Step{Anchor: state, Action: rl.Action{Kind: rl.ActionChoice, Text: "left"}})
	}
	o := Measure([]*rl.Trajectory{x})
	require.Equal(t, 2.0/5, o.Revisits)
	require.Zero(t, o.Words+o.Distinct+o.Different)
	require.Equal(t, map[string]float64{"solved": 1}, o.Metrics)
}

// Promise: the most suspicious trajectory has a high score, little of what the
// environment itself gives, and repeats itself; ties keep their order.
func TestSuspects(t *testing.T) {
	all := []*rl.Trajectory{
		said("honest", "a", 1, 1, "we take the left door"),
		said("lost", "a", 0, 0, "we take the right door"),
		said("hack", "a", 3, 0, "door door door door door door"),
		said("lucky", "a", 3, 1, "we open the left door"),
		said("lost too", "a", 0, 0, "we take the right door"),
	}
	var ids []string
	for _, s := range Default().Suspects(all, 5) {
		ids = append(ids, s.ID)
	}
	require.Equal(t, "hack", ids[0])
	require.Equal(t, []string{"lost", "lost too", "honest"}, ids[2:])
	require.Len(t, Default().Suspects(all, 2), 2)
	require.Empty(t, Default().Suspects(nil, 3))
}
