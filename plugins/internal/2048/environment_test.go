package tiles

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/plugins/internal/2048/internal/grid"
	"github.com/merit-rl/merit/sdk/plugin"
)

func open(t testing.TB, slots int, split, options string) env.Env {
	t.Helper()
	e, err := Definition().Open(plugin.Setup{Slots: slots, Split: split}, json.RawMessage(options))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Promise: 2048 keeps the contract of env.Env within a process.
func TestContract(t *testing.T) {
	for name, options := range map[string]string{
		"as it comes": `{}`,
		"a goal":      `{"goal": 64, "reward": "log2", "scale": 0.5, "planes": 8, "max_steps": 150}`,
	} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env { return open(t, 5, plugin.Train, options) })
		})
	}
}

// at is a slot with a board of options o.
func at(t *testing.T, o Options, board string) *slot {
	t.Helper()
	e, err := newEnvironment(plugin.Setup{Slots: 1, Split: plugin.Train}, o)
	require.NoError(t, err)
	g, err := grid.Parse(board)
	require.NoError(t, err)
	return &slot{env: e.(*environment), grid: g}
}

// act makes a move and returns what the slot says.
func act(t *testing.T, s *slot, d grid.Direction) *plugin.Turn {
	t.Helper()
	turn := &plugin.Turn{Mask: []byte{1, 1, 1, 1}, Features: make([]float32, s.env.options.Planes*grid.Cells)}
	require.NoError(t, s.Step(plugin.Action{Index: int(d)}, turn))
	return turn
}

const pairs = "2 2 4 4\n. . . .\n. . . .\n. . . ."

// Promise: a move is worth the numbers on the tiles that it joins, scaled; then
// one new tile is there, and the mask has the moves that change something.
func TestReward(t *testing.T) {
	s := at(t, defaults(), pairs)
	turn := act(t, s, grid.Left)
	require.Equal(t, 12.0, turn.Reward)
	require.Equal(t, 13, s.grid.Empty())
	require.Equal(t, string(s.grid.Append(nil)), string(turn.Anchor))
	s.env.tables.Legal(s.grid, make([]byte, 4))
	o := defaults()
	o.Scale = 0.5
	require.Equal(t, 6.0, act(t, at(t, o, pairs), grid.Left).Reward)
	o.Reward = "log2"
	require.InDelta(t, 0.5*3.7004397, act(t, at(t, o, pairs), grid.Left).Reward, 1e-6)
}

// Promise: a move that changes nothing is not available; made nevertheless, it
// is marked, adds no tile and costs its step.
func TestMoveWithoutEffect(t *testing.T) {
	o := defaults()
	o.MaxSteps = 2
	s := at(t, o, "2 4 8 16\n. . . .\n. . . .\n. . . .")
	turn := act(t, s, grid.Left)
	require.True(t, turn.InvalidAction)
	require.Equal(t, []byte{0, 1, 0, 0}, turn.Mask, "up, left and right change nothing")
	require.Equal(t, "2 4 8 16\n. . . .\n. . . .\n. . . .", string(turn.Anchor))
	turn = act(t, s, grid.Up)
	require.True(t, turn.InvalidAction && turn.Truncated)
	require.False(t, turn.Terminated)
}

// Promise: a board without a move is the end, and so is the goal; the step
// limit truncates.
func TestEnds(t *testing.T) {
	// Whatever tile comes to the empty cell, 2 or 4, joins nothing.
	stuck := act(t, at(t, defaults(), "8 16 32 64\n16 32 64 128\n32 64 128 256\n. 16 32 64"), grid.Left)
	require.True(t, stuck.Terminated)
	require.Equal(t, []byte{0, 0, 0, 0}, stuck.Mask)
	o := defaults()
	o.Goal, o.MaxSteps = 8, 1
	won := act(t, at(t, o, pairs), grid.Left)
	require.True(t, won.Terminated)
	require.False(t, won.Truncated)
	require.True(t, act(t, at(t, o, pairs), grid.Down).Truncated)
	o.Reward = "goal"
	require.Equal(t, 1.0, act(t, at(t, o, pairs), grid.Left).Reward)
	require.Zero(t, act(t, at(t, o, pairs), grid.Down).Reward)
}

// Promise: every cell has one plane, and tiles that are too large for the planes
// are in the last one.
func TestFeatures(t *testing.T) {
	o := defaults()
	o.Planes = 3
	s := at(t, o, "2 4 8 16\n. . . .\n. . . .\n. . . .")
	f := act(t, s, grid.Left).Features
	want := make([]float32, 48)
	want[16] = 1                                 // 2
	want[32+1], want[32+2], want[32+3] = 1, 1, 1 // 4 and more
	for cell := 4; cell < 16; cell++ {
		want[cell] = 1
	}
	require.Equal(t, want, f)
}

// Promise: the splits share no start, not even turned or mirrored, and each has
// many.
func TestSplits(t *testing.T) {
	owner := map[grid.Grid]string{}
	for _, split := range []string{plugin.Train, plugin.Validation, plugin.Test} {
		d := defaults().deal(split)
		starts := map[grid.Grid]bool{}
		for seed := range uint64(2000) {
			g, _, err := d.start(seed)
			require.NoError(t, err)
			require.Equal(t, grid.Cells-2, g.Empty())
			require.Contains(t, []string{"", split}, owner[g.Form()])
			owner[g.Form()], starts[g] = split, true
		}
		require.Greater(t, len(starts), 50, split)
	}
}

// Promise: a new tile is 4 as often as the options say.
func TestFours(t *testing.T) {
	for share, want := range map[float64]int{0: 0, 0.1: 1000, 1: 10000} {
		o := defaults()
		o.Fours = share
		d, fours := o.deal(plugin.Train), 0
		_, r, err := d.start(1)
		require.NoError(t, err)
		for range 10000 {
			fours += d.add(0, &r).Largest() - 1
		}
		require.InDelta(t, want, fours, 150, "%v", share) // five deviations
	}
}

// Promise: every option that is wrong is named with its key, all at once.
func TestWrongOptions(t *testing.T) {
	for options, want := range map[string][]string{
		`{"goal": 100, "tiles": 0, "fours": 2, "reward": "sum", "scale": 0, "planes": 17, "max_steps": 0, "shares": {"test": 1}, "size": 5}`: {
			"options.goal: must be 0 or a power of 2 from 8 to 32768, not 100",
			"options.tiles: must be 1 to 8, not 0",
			"options.fours: must be a share from 0 to 1, not 2",
			`options.reward: must be points, log2 or goal, not "sum"`,
			"options.scale: must be above 0 and at most 1000000, not 0",
			"options.planes: must be 2 to 16, not 17",
			"options.max_steps: must be positive, not 0",
			"options.shares: validation 0.2 and test 1 must be positive and add up to less than 1",
			"options.size: is not an option",
		},
		`{"reward": "goal"}`:                       {"options.reward: needs a goal, but none is set"},
		`{"tiles": 1, "shares": {"test": 0.0001}}`: {"options.shares: no start of 1 tiles belongs to split test"},
	} {
		_, err := Definition().Open(plugin.Setup{Slots: 1, Split: plugin.Test}, json.RawMessage(options))
		require.Error(t, err, options)
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
	_, err := Definition().Open(plugin.Setup{Slots: 1, Split: "exam"}, nil)
	require.ErrorContains(t, err, `split "exam" is not one of train, validation, test`)
}

// Promise: a picture for people shows the board and its score.
func TestRender(t *testing.T) {
	s := at(t, defaults(), "2 4 8 16\n. . . .\n. . . .\n. . . 1024")
	require.Equal(t, "     2     4     8    16\n     .     .     .     .\n     .     .     .     .\n     .     .     .  1024\nscore 0 after 0 moves", s.String())
}

// Promise: a board is found between the words of a chat and encoded as a slot shows it, with
// the moves that it allows; a board without a move and other texts are refused.
func TestEncode(t *testing.T) {
	e := open(t, 1, plugin.Train, `{}`)
	var got env.Reply
	_, err := e.(env.Encoder).Encode(t.Context(), []string{"Score 12\n   .    .   .   .\n   .    .   .   .\n   .    .   .   .\n   2    4   8   16\n"}, "up", &got)
	require.NoError(t, err)
	require.Equal(t, ". . . .\n. . . .\n. . . .\n2 4 8 16", got.Anchor[0])
	require.Equal(t, []byte{1, 0, 0, 0}, got.Mask)
	for text, why := range map[string]string{
		"": "shows no board", "2 4 8": "shows no board", strings.Repeat("3 3 3 3\n", 4): "shows no board",
		strings.Repeat("2 4 2 4\n4 2 4 2\n", 2): "no move is left",
	} {
		_, err := e.(env.Encoder).Encode(t.Context(), []string{text}, "up", &got)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Refused), text)
		require.ErrorContains(t, err, why)
	}
}
