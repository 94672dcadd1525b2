package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/recheck/explain"
)

// Promise: an explanation shows all ways on from the state of a step, with what followed, what they
// achieved and what the state is worth; and a branch says where it left which episode.
func TestTree(t *testing.T) {
	b, err := explain.FromTrajectories(settings(func(c *advantage.Config) { c.Estimator, c.Gamma = "tree", 1 }), "test", branched())
	require.NoError(t, err)
	e := b.Explain(b.Row("train-7-g0-won", 1))
	require.Equal(t, "after hall", e.Tree.State)
	require.Empty(t, e.Tree.Of)
	type way struct {
		trajectory, state string
		score, mean, g    float64
		self              bool
	}
	var ways []way
	for _, w := range e.Tree.Ways {
		ways = append(ways, way{w.Trajectory, w.State, *w.Score, w.Mean, w.Return, w.Self})
	}
	// won goes through the door; one goes to a room, where deep leaves it: (0.25 + 0) / 2.
	require.Equal(t, []way{
		{"train-7-g0-won", "after door", 1, 1, 1, true},
		{"train-7-g0-one", "after door", 0.25, 0.125, 0.125, false},
		{"train-7-g0-two", "after door", 1, 1, 1, false},
		{"train-7-g0-again", "after door", 0.5, 0.5, 0.5, false},
	}, ways)
	require.InDelta(t, (1+0.125+1+0.5)/4, e.Tree.Value, 1e-15)
	require.InDelta(t, 1-e.Tree.Value, e.Advantage, 1e-15)
	require.Equal(t, []explain.Left{{Step: 0, Branches: 2}}, e.Tree.Left)
	require.Len(t, e.Members, 6, "four members, and two that left at the start")

	lost := e.Tree
	e = b.Explain(b.Row("train-7-g0-won", 0))
	require.Nil(t, e.Tree.Ways[1].Score, "a branch without a score is shown")
	require.Equal(t, "timeout", e.Tree.Ways[1].Outcome)
	require.Contains(t, e.Notes, "3 branches leave the episode after this step: G and the score are means over all that follow")
	require.NotEqual(t, lost.Value, e.Tree.Value)

	e = b.Explain(b.Row("train-7-g0-deep", 0))
	require.Equal(t, "train-7-g0-won", e.Tree.CopyOf)
	require.Equal(t, "train-7-g0-one", e.Tree.Of)
	require.Equal(t, 2, e.Tree.At)
	require.Contains(t, e.Notes, "the step is a copy of step 0 of train-7-g0-won: the numbers are those of that step, and the learner skips the copy")
	require.Equal(t, b.Explain(b.Row("train-7-g0-won", 0)).Advantage, e.Advantage)
}
