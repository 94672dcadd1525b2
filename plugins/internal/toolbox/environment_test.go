package toolbox

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/task"
	"github.com/merit-rl/merit/sdk/plugin"
)

func open(t testing.TB, slots int, split, options string) env.Env {
	t.Helper()
	e, err := Definition().Open(plugin.Setup{Slots: slots, Split: split}, json.RawMessage(options))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// written is a list of one tool call, as it reaches an environment whose
// actions are text.
func written(name, arguments string) string {
	raw, err := json.Marshal([]plugin.ToolCall{{ID: "1", Type: "function", Function: plugin.FunctionCall{Name: name, Arguments: arguments}}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// said is what a language model may say in its turns.
var said = []string{
	written("find_event", `{"title": "Budget"}`), "", written("set_thermostat", `{"room": "attic", "temperature": "warm"}`),
	written("set_thermostat", `{"room": "office", "temperature": 21}`), written("fly", `{}`), "[]", written("add_note", `{"title": "Lunch"}`), "I am done.",
}

// hard is every fault at once.
const hard = `{"form": "choice", "calls": [3, 6], "max_steps": 20, "distractors": 6, "ids": 0.5, "errors": {"transient": 0.5, "missing": 0.5, "permission": 0.5}}`

// Promise: both forms keep the contract of env.Env within a process.
func TestContract(t *testing.T) {
	for name, options := range map[string]string{"tools": `{}`, "choice": `{"form": "choice"}`, "hard": hard} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env { return open(t, 5, plugin.Train, options) }, said...)
		})
	}
}

// Promise: no request that is held out is trained on, in whatever order its
// parts and with whatever ids.
func TestSplitsAreDisjoint(t *testing.T) {
	o := defaults()
	o.Form, o.Calls, o.IDs = formChoice, [2]int{1, 2}, 0 // few requests: chance alone would make them meet
	owner := map[string]string{}
	for _, split := range []string{plugin.Train, plugin.Validation, plugin.Test} {
		c := o.tasks(split)
		for seed := range uint64(120) {
			drawn, err := task.Draw(c, seed)
			require.NoError(t, err)
			parts := []string{}
			for i := range drawn.Goals {
				parts = append(parts, drawn.Goals[i].Words())
			}
			slices.Sort(parts)
			key := strings.Join(parts, "\n")
			require.Contains(t, []string{"", split}, owner[key], key)
			owner[key] = split
		}
	}
	require.Greater(t, len(owner), 100)
}

// Promise: every option that is wrong is named with its key, all at once.
func TestWrongOptions(t *testing.T) {
	for options, want := range map[string][]string{
		`{"form": "json", "calls": [3, 2], "kinds": ["fly"], "things": 1, "distractors": 7, "ordered": 2, "errors": {"transient": -1, "permision": 1}, "reward": {"progress": 0.5, "error": 2}, "shares": {"test": 1}}`: {
			`options.form: must be tools or choice, not "json"`,
			"options.calls: [3 2] is not a range within 1 to 16",
			`options.kinds[0]: "fly" is not a kind`,
			"options.things: must be 2 to 12, not 1",
			"options.distractors: must be 0 to 6, not 7",
			"options.ordered: must be 0 to 1, not 2",
			"options.errors.transient: must be 0 to 1, not -1",
			"options.errors.permision: is not an option",
			"options.reward.progress: must be at least 0 and below 0.5",
			"options.reward.error: must be 0 to 1, not 2",
			"options.shares: validation 0.1 and test 1 must be positive",
		},
		`{"form": "choice", "things": 7}`:          {"options.things: must be 2 to 6, not 7"},
		`{"calls": [2, 12]}`:                       {"options.max_steps: must be more than the maximum of calls, 12"},
		`{"calls": [9, 9], "kinds": ["add_note"]}`: {"options.kinds: too few such tasks exist"},
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

// Promise: the list of concrete calls has distinct names, and what needs
// something in hand is not available without it.
func TestChoices(t *testing.T) {
	e := open(t, 1, plugin.Train, `{"form": "choice", "distractors": 6}`)
	b := env.NewBatch(e.Spec())
	b.Want, b.Ops[0] = env.WantText|env.WantFeatures, env.Reset
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	for i, name := range e.Spec().Actions {
		_, kind, needs := strings.Cut(name, "(")
		require.True(t, needs, name)
		if r.Mask[i] == 0 {
			require.Regexp(t, "^(contact|event|order|note) found", kind)
		}
	}
	require.Contains(t, e.Spec().Actions, "move_event(event found, monday, 9)")
	require.Contains(t, e.Spec().Actions, "create_event(contact found, Lunch, monday, 9)")
	require.Contains(t, e.Spec().Actions, "finish()")
	require.Len(t, e.Spec().Actions, 115)
	require.Equal(t, []int{225}, e.Spec().FeatureShape)
}

// Promise: a picture for people shows the request, what was done, and the clock.
func TestRender(t *testing.T) {
	e := open(t, 1, plugin.Train, `{}`)
	b := env.NewBatch(e.Spec())
	b.Ops[0] = env.Reset
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	b.Ops[0], b.Texts[0] = env.Step, written("add_note", `{"title": "x"}`)
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	text, err := e.(env.Renderer).Render(t.Context(), 0)
	require.NoError(t, err)
	require.Contains(t, text, `add_note "x"`)
	require.Regexp(t, `step 1 of 12, 1 calls, 0 errors$`, text)
}
