package sandbox_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// forms is an environment whose actions are what a slot can say, and what it should not.
const forms = `
const big = "x".repeat(2 << 20);
const said = {
  plain: () => ({ anchor: "a", features: [1, 0.5, -2] }),
  unicode: () => ({ anchor: "größe ✓ 🚢", text: "Zug → \ud800\0", features: [0, 0, 0] }),
  empty: () => ({ anchor: "a", text: "", features: new Float32Array(3), reward: true }),
  gymnasium: () => [[[1, 2.5], [3]], -0.5, false, true, { actionMask: names.map((_, i) => i < 1) }],
  events: () => ({ anchor: "e", features: [0, 0, 0], tools: [{ name: "ferry", content: "left" }], info: { seen: [1] }, metrics: { moves: 3 }, invalidAction: 1, mask: names.map(() => 1) }),
  end: () => ({ anchor: "end", features: [0, 0, 0], terminated: true, mask: names.map(() => 0) }),
  impure: () => ({ anchor: [Math.random(), Date.now(), performance.now(), count++].join(" "), features: [0, 0, 0] }),
};
const wrong = {
  nan: () => ({ reward: NaN }), short: () => ({ features: [1] }), late: () => ({ features: [0, 0, 0], mask: names.map(() => 0) }), long: () => ({ anchor: big }),
  raise: () => null.nothing, async: async () => 1, number: () => 7, open: () => { try { fetch("x"); } catch {} return { anchor: "", features: [0, 0, 0] }; },
  memory: () => new Uint8Array(1 << 30), deep: () => deep(), endless: () => { for (;;); }, letters: () => ({ features: ["a", 0, 0] }),
};
const names = [...Object.keys(said), ...Object.keys(wrong)];
const deep = () => deep() + 1;
let count = 0;
export default class Forms {
  static about = { name: "forms", version: "1.2", summary: "Says it.", options: { fail: "", list: [1] } };
  static actions = names;
  featureShape = [3];
  maxSteps = 9;
  constructor(options, split) { if (options.fail) throw new TypeError(options.fail + " in " + split); }
  reset(seed) {
    console.log("reset", seed);
    return { ...said.impure(), anchor: seed + " " + Math.random(), task: { id: "t" + seed } };
  }
  step(action) { return { ...said, ...wrong }[names[action]](); }
  render() { return "count " + count; }
}
`

// openForms opens forms with two slots.
func openForms(t testing.TB, options string) (env.Env, error) {
	needInterpreters(t)
	c := sandbox.DefaultConfig()
	c.CacheDir, c.Fuel = cacheDir(t), 100_000_000
	file := filepath.Join(folder(t, map[string]string{"forms.js": forms}), "forms.js")
	e, _, err := c.OpenEnvironment(t.Context(), file, false, wire.Configuration{Slots: 2, Split: "test", Options: json.RawMessage(options)})
	if err == nil {
		t.Cleanup(func() { _ = e.Close() })
	}
	return e, err
}

// act resets both slots with a seed and lets them take an action.
func act(t testing.TB, e env.Env, seed uint64, action string) (began, then env.Reply) {
	b := env.NewBatch(e.Spec())
	b.Want = env.WantText | env.WantFeatures
	for i := range b.Ops {
		b.Ops[i], b.Seeds[i] = env.Reset, seed
	}
	require.NoError(t, e.Exchange(t.Context(), b, &began))
	for i := range b.Ops {
		b.Ops[i], b.Actions[i] = env.Step, int32(slices.Index(e.Spec().Actions, action))
	}
	require.NoError(t, e.Exchange(t.Context(), b, &then))
	return began, then
}

// told is one slot of a reply as text.
func told(r env.Reply) string {
	events := ""
	for _, e := range r.Events {
		if e.Slot == 0 && e.Name != "env_fuel" {
			events += fmt.Sprintf(" %s %s %s", e.Kind, e.Name, e.Message)
		}
	}
	return fmt.Sprintf("%s|%s|%v|%v|%v%s", r.Anchor[0], r.Text[0], r.Features[:3], r.Reward[0], r.Flags[0], events)
}

var place = regexp.MustCompile(`\.js:\d+`)

// Promise: an environment in JavaScript says every form of a turn, and what is wrong with one
// or breaks the interpreter ends an episode with its reason.
func TestJavaScriptEnvironment(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	e, err := openForms(t, `{}`)
	require.NoError(t, err)
	for action, want := range map[string]string{
		"plain":     "a|a|[1 0.5 -2]|0|0",
		"unicode":   "größe ✓ 🚢|Zug → ��|[0 0 0]|0|0",
		"empty":     "a||[0 0 0]|1|0",
		"gymnasium": "1,2.500,3|1,2.500,3|[1 2.5 3]|-0.5|2",
		"events":    "e|e|[0 0 0]|0|8 tool_result ferry left info seen [1] metric moves 3",
		"end":       "end|end|[0 0 0]|0|1",
		"nan":       "||[0 0 0]|0|4 error  RangeError: the reward is null, not a finite number",
		"short":     "||[0 0 0]|0|4 error  RangeError: there are 1 features, not 3 as featureShape says",
		"late":      "||[0 0 0]|0|4 error  RangeError: the episode goes on but no action is available",
		"long":      "||[0 0 0]|0|4 error  RangeError: there are 0 features, not 3 as featureShape says",
		"letters":   "||[0 0 0]|0|4 error  forms: bad output: a feature is not a finite number; correct the environment",
		"raise":     "||[0 0 0]|0|4 error  TypeError: cannot read property 'nothing' of null (forms.js:N)",
		"async":     "||[0 0 0]|0|4 error  TypeError: step is async",
		"number":    "||[0 0 0]|0|4 error  TypeError: step returns an object, or [observation, reward, terminated, truncated, info]",
		"open":      "||[0 0 0]|0|4 error  the environment asked for what the sandbox does not have: fetch, at forms.js:N",
		"memory":    "||[0 0 0]|0|4 error  InternalError: out of memory (forms.js:N)",
		"deep":      "||[0 0 0]|0|4 error  RangeError: Maximum call stack size exceeded",
		"endless":   "||[0 0 0]|0|4 error  forms: out of fuel: to step it may use 100000000 units; raise sandbox.fuel",
	} {
		_, r := act(t, e, 5, action)
		said := place.ReplaceAllString(told(r), ".js:N")
		require.True(t, strings.HasPrefix(said, want), "%s: %s", action, said)
	}
}

// Promise: in an environment in JavaScript the seed determines Math.random, and nothing differs
// between slots, episodes and instances; a state continues in another one.
func TestJavaScriptEnvironmentIsDeterministic(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	one, err := openForms(t, `{}`)
	require.NoError(t, err)
	two, err := openForms(t, `{}`)
	require.NoError(t, err)
	began, first := act(t, one, 5, "impure")
	require.Equal(t, first.Anchor[0], first.Anchor[1])
	require.True(t, strings.HasPrefix(began.Anchor[0], "5 0."), began.Anchor[0])
	_, other := act(t, one, 6, "impure")
	require.NotEqual(t, first.Anchor, other.Anchor)
	for _, e := range []env.Env{one, two} {
		again, then := act(t, e, 5, "impure")
		require.Equal(t, began.Anchor, again.Anchor)
		require.Equal(t, told(first), told(then))
	}
	state, err := one.(env.Snapshotter).Snapshot(t.Context(), 1)
	require.NoError(t, err)
	act(t, two, 8, "end")
	require.NoError(t, two.(env.Snapshotter).Restore(t.Context(), 0, state))
	for _, e := range []env.Env{one, two} {
		text, err := e.(env.Renderer).Render(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, "count 2", text)
	}
}

// Promise: wrong options of an environment in JavaScript are reported together.
func TestJavaScriptEnvironmentOptions(t *testing.T) {
	for options, says := range map[string]string{
		`{"fail": 1, "speed": 1, "list": {}}`: "options.fail: must be a string, not 1\noptions.speed: is not an option\noptions.list: must be a list, not {}",
		`{"fail": "no"}`:                      "TypeError: no in test (forms.js:",
	} {
		_, err := openForms(t, options)
		require.ErrorContains(t, err, says)
		require.NotNil(t, fault.As(err))
	}
}
