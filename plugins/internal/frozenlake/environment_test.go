package frozenlake

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/plugins/internal/frozenlake/internal/lake"
	"github.com/merit-rl/merit/sdk/plugin"
)

func open(t testing.TB, slots int, split, options string) env.Env {
	t.Helper()
	e, err := Definition().Open(plugin.Setup{Slots: slots, Split: split}, json.RawMessage(options))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Promise: the lake keeps the contract of env.Env within a process.
func TestContract(t *testing.T) {
	for name, options := range map[string]string{
		"as it comes": `{}`,
		"firm":        `{"slippery": false, "size": [4, 8], "features": "grid"}`,
		"Gymnasium's": `{"map": "8x8", "max_steps": 200}`,
	} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env { return open(t, 5, plugin.Train, options) })
		})
	}
}

// play resets a slot with the options and makes the moves; it returns the turns.
func play(t *testing.T, o Options, moves ...lake.Direction) []plugin.Turn {
	t.Helper()
	e, err := newEnvironment(plugin.Setup{Slots: 1, Split: plugin.Train}, o)
	require.NoError(t, err)
	s, err := e.NewSlot()
	require.NoError(t, err)
	turns := make([]plugin.Turn, len(moves)+1)
	turns[0].Features = make([]float32, e.Spec().FeatureShape[0]*e.Spec().FeatureShape[1]*e.Spec().FeatureShape[2])
	require.NoError(t, s.Reset(7, &turns[0]))
	for i, m := range moves {
		require.NoError(t, s.Step(plugin.Action{Index: int(m)}, &turns[i+1]))
	}
	return turns
}

func small() Options {
	o := defaults()
	o.Map, o.Slippery = Map{Rows: []string{"SFF", "FHF", "FFG"}}, false
	return o
}

// Promise: +1 and terminated at the goal, terminated with 0 in a hole, and the
// edge holds.
func TestFirm(t *testing.T) {
	turns := play(t, small(), lake.Up, lake.Right, lake.Right, lake.Down, lake.Down)
	for i, want := range []string{"@FF\nFHF\nFFG", "@FF\nFHF\nFFG", "S@F\nFHF\nFFG", "SF@\nFHF\nFFG", "SFF\nFH@\nFFG", "SFF\nFHF\nFF*"} {
		require.Equal(t, want, string(turns[i].Anchor))
		require.Equal(t, i == 5, turns[i].Terminated)
		require.Equal(t, i == 5, turns[i].Reward == 1)
		require.Equal(t, i == 1, turns[i].InvalidAction)
	}
	fall := play(t, small(), lake.Right, lake.Down)
	require.True(t, fall[2].Terminated)
	require.Zero(t, fall[2].Reward)
	require.Equal(t, "SFF\nFXF\nFFG", string(fall[2].Anchor))
}

// Promise: the step limit truncates; the goal on the last step terminates.
func TestStepLimit(t *testing.T) {
	o := small()
	o.MaxSteps = 4
	lost := play(t, o, lake.Left, lake.Left, lake.Left, lake.Left)
	require.True(t, lost[4].Truncated && !lost[4].Terminated)
	won := play(t, o, lake.Right, lake.Right, lake.Down, lake.Down)
	require.True(t, won[4].Terminated && !won[4].Truncated)
}

// Promise: on slippery ice a move goes forward and to each side one time in
// three, and never back.
func TestSlippery(t *testing.T) {
	e := open(t, 1, plugin.Train, `{"map": ["FFF", "FSF", "FFF", "FFG"]}`)
	met := map[string]int{}
	b := env.NewBatch(e.Spec())
	for seed := range uint64(3000) {
		var r env.Reply
		b.Ops[0], b.Seeds[0] = env.Reset, seed
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		b.Ops[0], b.Actions[0] = env.Step, int32(lake.Up)
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		met[r.Anchor[0]]++
	}
	require.Len(t, met, 3)
	for _, place := range []string{"F@F\nFSF\nFFF\nFFG", "FFF\n@SF\nFFF\nFFG", "FFF\nFS@\nFFF\nFFG"} {
		require.InDelta(t, 1000, met[place], 130, place) // five deviations
	}
}

// Promise: the view around the player and the view from above show the same
// lake.
func TestFeatures(t *testing.T) {
	o := small()
	f := play(t, o)[0].Features // [3 5 5], the player at row 2 and column 2
	for plane, want := range []string{"SFHG", "H", "G"} {
		for row := range 5 {
			for column := range 5 {
				cell := byte('-')
				if row >= 2 && column >= 2 {
					cell = "SFFFHFFFG"[3*(row-2)+column-2]
				}
				is := float32(0)
				for i := range want {
					if want[i] == cell {
						is = 1
					}
				}
				require.Equal(t, is, f[25*plane+5*row+column], "plane %d row %d column %d", plane, row, column)
			}
		}
	}
	o.Features = "grid"
	require.Equal(t, []float32{
		1, 1, 1, 1, 1, 1, 1, 1, 1,
		0, 0, 0, 0, 1, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 1,
		1, 0, 0, 0, 0, 0, 0, 0, 0,
	}, play(t, o)[0].Features)
}

// Promise: no held-out lake is a training lake, not even mirrored.
func TestSplitsAreDisjoint(t *testing.T) {
	owner := map[string]string{}
	for _, split := range []string{plugin.Train, plugin.Validation, plugin.Test} {
		s := newSource(defaults(), split)
		for seed := range uint64(1000) {
			c, err := s.of(seed)
			require.NoError(t, err)
			form := string(lake.Form(c.Rows, c.Cells))
			require.Contains(t, []string{"", split}, owner[form])
			owner[form] = split
		}
	}
	require.Greater(t, len(owner), 300)
}

// Promise: every option that is wrong is named with its key, all at once.
func TestWrongOptions(t *testing.T) {
	for options, want := range map[string][]string{
		`{"size": [5, 4], "holes": [0.2, 0.9], "max_steps": 0, "features": "round", "shares": {"test": 1}, "speed": 1}`: {
			"options.size: [5, 4] is not a range from 3 to 16",
			"options.holes: [0.2, 0.9] is not a range from 0 to 0.5",
			"options.max_steps: must be at least 6, the moves of the shortest path, not 0",
			`options.features: must be ego or grid, not "round"`,
			"options.shares: validation 0.1 and test 1 must be positive and add up to less than 1",
			"options.speed: is not an option",
		},
		`{"map": "5x5", "size": "x"}`:              {`options.map: "5x5" is not one of Gymnasium's maps`, `options.size: must be [min, max] or one number, not "x"`},
		`{"map": ["SFF", "FH"]}`:                   {"options.map: row 2 has 2 cells, but the first has 3", "options.map: 1 starts and 0 goals"},
		`{"map": 4}`:                               {"options.map: must be a name, or a list of rows"},
		`{"map": "8x8", "max_steps": 13}`:          {"options.max_steps: must be at least 14"},
		`{"size": 8, "holes": 0, "max_steps": 13}`: {"options.max_steps: must be at least 14"},
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

// Promise: a picture for people shows the lake and its clock.
func TestRender(t *testing.T) {
	e := open(t, 2, plugin.Train, `{}`)
	b := env.NewBatch(e.Spec())
	b.Ops[1] = env.Reset
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	text, err := e.(env.Renderer).Render(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%s\nstep 0 of 100", r.Anchor[1]), text)
}

// Promise: a lake is found between the words of a chat and encoded as a slot shows it; what
// does not show such a lake is refused.
func TestEncode(t *testing.T) {
	e := open(t, 1, plugin.Train, `{"size": [3, 4], "slippery": false}`)
	var got env.Reply
	_, err := e.(env.Encoder).Encode(t.Context(), []string{"older", "You are here:\r\n```\r\nSFF\r\n@HF\r\nFFG\r\n```\r\nWhere to?"}, "up", &got)
	require.NoError(t, err)
	require.Equal(t, "SFF\n@HF\nFFG", got.Anchor[0])
	for text, why := range map[string]string{
		"":                               "shows no lake",
		"SFF\nFHF\nFFG":                  "shows no lake",
		"SFF\nXHF\nFFG":                  "shows no lake",
		"@FF\nFH\nFFG":                   "shows no lake",
		"@FF\nFHF\nFFF":                  "shows no lake",
		"@FFFF\nFHFFF\nFFFFG":            "larger than those",
		"@G\n" + strings.Repeat("F", 99): "shows no lake",
	} {
		_, err := e.(env.Encoder).Encode(t.Context(), []string{text}, "up", &got)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Refused), text)
		require.ErrorContains(t, err, why)
	}
}
