package sokoban

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/sdk/plugin"
)

func open(t testing.TB, slots int, split, options string) env.Env {
	t.Helper()
	e, err := Definition().Open(plugin.Setup{Slots: slots, Split: split}, json.RawMessage(options))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Promise: Sokoban keeps the contract of env.Env within a process.
func TestContract(t *testing.T) {
	for name, options := range map[string]string{
		"one box":   `{}`,
		"two boxes": `{"boxes": 2, "optimum": [3, 22], "max_steps": 30}`,
		"grid":      `{"size": 8, "features": "grid"}`,
	} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env { return open(t, 5, plugin.Train, options) })
		})
	}
}

// walk plays moves in slot 0 from a level file and returns the last reply.
func walk(t *testing.T, level string, options map[string]any, moves ...plugin.Action) (frames []env.Reply) {
	t.Helper()
	options["levels"] = map[string]string{"train": writeLevel(t, level)}
	raw, err := json.Marshal(options)
	require.NoError(t, err)
	e := open(t, 1, plugin.Train, string(raw))
	b := env.NewBatch(e.Spec())
	b.Want = env.WantText | env.WantFeatures
	b.Ops[0] = env.Reset
	for i := 0; ; i++ {
		var r env.Reply
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		frames = append(frames, r)
		if i == len(moves) {
			return frames
		}
		b.Ops[0], b.Actions[0] = env.Step, int32(moves[i].Index)
	}
}

func writeLevel(t *testing.T, level string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "level.txt")
	require.NoError(t, writeFile(path, level))
	return path
}

var (
	up    = plugin.Action{Index: 0}
	down  = plugin.Action{Index: 1}
	right = plugin.Action{Index: 3}
)

const corridor = `
######
#@ $.#
#    #
######
`

// Promise: +1 and terminated when the last box is on its target, 0 before.
func TestSolved(t *testing.T) {
	frames := walk(t, corridor, map[string]any{}, right, right)
	require.Zero(t, frames[1].Reward[0])
	require.Zero(t, frames[1].Flags[0])
	require.Equal(t, 1.0, frames[2].Reward[0])
	require.Equal(t, env.Terminated, frames[2].Flags[0])
	require.Equal(t, "######\n#  @*#\n#    #\n######", frames[2].Anchor[0])
	require.Equal(t, frames[2].Anchor[0], frames[2].Text[0])
}

// metrics are those of the events of a frame.
func metrics(frame env.Reply) map[string]string {
	said := map[string]string{}
	for _, e := range frame.Events {
		if e.Kind == env.EventMetric {
			said[e.Name] = e.Message
		}
	}
	return said
}

// Promise: the end of an episode says whether the level is solved, and how much
// longer that took than the shortest solution; a search that its budget does
// not suffice for leaves that unknown, and so does none.
func TestOptimalityGap(t *testing.T) {
	shortest := walk(t, corridor, map[string]any{}, right, right)
	require.Empty(t, metrics(shortest[0]))
	require.Empty(t, metrics(shortest[1]))
	require.Equal(t, map[string]string{"solved": "1", "optimality_gap": "0"}, metrics(shortest[2]))
	detour := walk(t, corridor, map[string]any{}, down, up, right, right)
	require.Equal(t, map[string]string{"solved": "1", "optimality_gap": "1"}, metrics(detour[4]))
	lost := walk(t, corridor, map[string]any{"max_steps": 2}, down, up)
	require.Equal(t, map[string]string{"solved": "0"}, metrics(lost[2]))
	for _, states := range []int{0, 1} {
		unknown := walk(t, corridor, map[string]any{"optimum_states": states}, right, right)
		require.Equal(t, map[string]string{"solved": "1"}, metrics(unknown[2]))
	}
}

// Promise: a move into a wall is legal, changes nothing and is marked.
func TestInvalidMove(t *testing.T) {
	frames := walk(t, corridor, map[string]any{}, up, down)
	require.Equal(t, env.InvalidAction, frames[1].Flags[0])
	require.Equal(t, frames[0].Anchor[0], frames[1].Anchor[0])
	require.Zero(t, frames[2].Flags[0])
	require.Equal(t, []byte{1, 1, 1, 1}, frames[1].Mask, "all moves stay available")
}

// Promise: the step limit truncates, and does not terminate; an episode that
// is solved on its last step is terminated.
func TestStepLimit(t *testing.T) {
	frames := walk(t, corridor, map[string]any{"max_steps": 2}, down, up)
	require.Equal(t, env.Truncated, frames[2].Flags[0])
	frames = walk(t, corridor, map[string]any{"max_steps": 2}, right, right)
	require.Equal(t, env.Terminated, frames[2].Flags[0])
}

// Promise: a step after the end, or before the first reset, breaks the slot
// with a reason, and a reset mends it.
func TestStepWithoutReset(t *testing.T) {
	e := open(t, 1, plugin.Train, `{}`)
	b := env.NewBatch(e.Spec())
	var r env.Reply
	b.Ops[0] = env.Step
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Equal(t, env.Failed, r.Flags[0])
	require.Equal(t, []env.Event{{Kind: env.EventError, Message: "the slot was stepped before its first reset"}}, r.Events)
	b.Ops[0] = env.Reset
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Zero(t, r.Flags[0])
	require.Empty(t, r.Events)
}

// Promise: every option that is wrong is named with its key, all at once.
func TestWrongOptions(t *testing.T) {
	for options, want := range map[string][]string{
		`{"boxes": "x", "walls": [1, 2, 3], "speed": 1, "shares": {"tess": 1}}`: {
			"options.boxes: must be a whole number, not \"x\"",
			"options.shares.tess: is not an option",
			"options.speed: is not an option",
			"options.walls: must be [min, max] or one whole number",
		},
		`{"boxes": 9, "max_steps": 0, "features": "round", "shares": {"test": 1}, "optimum_states": -1}`: {
			"options.max_steps: must be positive, not 0",
			"options.optimum_states: must be 0 to 2000000, not -1",
			`options.features: must be ego or grid, not "round"`,
			"options.shares: validation 0.1 and test 1 must be positive and add up to less than 1",
			"options.boxes: must be 1 to 5 on a board of this size, not 9",
		},
		`{"size": 9}`: {"options.size: must be 5 to 8, not 9"},
		`{"walls": [3, 20], "optimum": 0}`: {
			"options.walls: [3, 20] is not a range from 0 to 13, the number of free cells",
			"options.optimum: [0, 0] is not a range that starts between 1 and max_steps",
		},
		`[]`: {"options: must be a section with keys below it"},
	} {
		_, err := Definition().Open(plugin.Setup{Slots: 1, Split: plugin.Train}, json.RawMessage(options))
		require.Error(t, err, options)
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
	_, err := Definition().Open(plugin.Setup{Slots: 1, Split: "exam"}, nil)
	require.ErrorContains(t, err, `split "exam" is not one of train, validation, test`)
}

// Promise: a picture for people shows the board and its clock.
func TestRender(t *testing.T) {
	e := open(t, 2, plugin.Train, `{}`)
	b := env.NewBatch(e.Spec())
	b.Ops[1] = env.Reset
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	text, err := e.(env.Renderer).Render(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, r.Anchor[1]+"\nstep 0 of 25", text)
}

// Promise: a board is found between the words of a chat and encoded as a slot shows it; what
// does not show such a board is refused.
func TestEncode(t *testing.T) {
	e := open(t, 1, plugin.Train, `{"size": 6}`)
	var got env.Reply
	_, err := e.(env.Encoder).Encode(t.Context(), []string{"The board:\n    #####\n    #@$.#\n    #####\nYour move:\n\n..."}, "right", &got)
	require.NoError(t, err)
	require.Equal(t, "#####\n#@$.#\n#####", got.Anchor[0])
	for text, why := range map[string]string{
		"":                          "shows no unsolved board",
		"#####\n#@*##\n#####":       "shows no unsolved board",
		"#####\n#@$.\n#####":        "shows no unsolved board",
		"#######\n#@ $ .#\n#######": "larger than those",
	} {
		_, err := e.(env.Encoder).Encode(t.Context(), []string{text}, "right", &got)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Refused), text)
		require.ErrorContains(t, err, why)
	}
}
