package toolbox

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/task"
	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Promise: the features show the next part of the request first, with its kind,
// its target and its values, whether all is known for it and whether its area
// is locked; a part that is done makes room for the next.
func TestFeatures(t *testing.T) {
	o := defaults()
	o.Form, o.Kinds, o.Calls, o.IDs, o.Errors = formChoice, []string{"move_event"}, [2]int{4, 4}, 0, Errors{Permission: 1}
	e, err := newEnvironment(plugin.Setup{Slots: 1, Split: plugin.Train}, o)
	require.NoError(t, err)
	s := &chooser{episode: episode{env: e.(*environment)}}
	m := s.env.menu
	turn := func() *plugin.Turn {
		return &plugin.Turn{Mask: slices.Repeat([]byte{1}, len(m.choices)), Features: make([]float32, m.features())}
	}
	first := turn()
	require.NoError(t, s.Reset(1, first))
	part := (m.features() - common) / shown
	block := func(features []float32, n, i int) []float32 { // block i of part n
		at := n * part
		for _, w := range m.widths()[:i] {
			at += w
		}
		return features[at : at+m.widths()[i]]
	}
	// shows is whether part n of the features is goal g, ready and locked.
	shows := func(features []float32, n, g int, ready, locked float32) {
		t.Helper()
		goal := s.task.Goals[g]
		require.Equal(t, float32(1), block(features, n, 0)[task.MoveEvent])
		require.Equal(t, float32(1), block(features, n, 2)[slices.Index(m.Titles, goal.Target)])
		require.Equal(t, float32(1), block(features, n, 10)[slices.Index(world.Days, goal.Day)])
		require.Equal(t, float32(1), block(features, n, 11)[slices.Index(m.Hours, goal.Hour)])
		require.Equal(t, []float32{ready, locked}, []float32{block(features, n, 15)[0], block(features, n, 16)[0]})
	}
	shows(first.Features, 0, 0, 0, 0)
	shows(first.Features, 1, 1, 0, 0)
	for _, want := range []struct {
		tool          world.Tool
		ready, locked float32
		goal          int
	}{
		{world.FindEvent, 1, 0, 0}, {world.MoveEvent, 1, 1, 0}, {world.RequestAccess, 1, 0, 0}, {world.MoveEvent, 0, 0, 1},
	} {
		now := turn()
		action := scripted(s)
		require.Equal(t, want.tool, m.choices[action].call.Tool)
		require.NoError(t, s.Step(plugin.Action{Index: action}, now))
		shows(now.Features, 0, want.goal, want.ready, want.locked)
	}
}
