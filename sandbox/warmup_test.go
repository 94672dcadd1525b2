package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

// add raises the one global of a flat guest.
func add(n int64) wt.Code {
	return wt.GlobalGet(0) + wt.I64Const(n) + wt.I64Add + wt.GlobalSet(0)
}

// counting scores how often it was called.
var counting = guest{evaluate: add(1) + wt.GlobalGet(0) + wt.Code("\xb9") + wt.Call(setScore) + scored} // f64.convert_i64_s

// scoresOf evaluates three times in every isolation that restores, and demands
// the same evaluation each time.
func scoresOf(t *testing.T, load func(r *sandbox.Runtime) *sandbox.Module) float64 {
	t.Helper()
	var want *reward.Evaluation
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Fresh, sandbox.Process} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Workers, c.Isolation, c.CacheDir = 1, isolation, cacheDir(t) })
		m := load(r)
		for range 3 {
			e := m.Evaluate(context.Background(), small())
			require.Equal(t, reward.Scored, e.Outcome, e.Reason)
			e.Elapsed = 0
			if want == nil {
				want = &e
			}
			require.Equal(t, *want, e, isolation)
		}
	}
	return want.Result.Score
}

// Promise: the state that evaluations begin from is that after two evaluations
// of a built-in conversation, unless the reward does without: in every language
// and isolation.
func TestWarmUp(t *testing.T) {
	for kind, want := range map[sandbox.WarmUp]float64{"": 3, sandbox.WarmUpConversation: 3, sandbox.WarmUpOff: 1} {
		wasm, err := sandbox.WithManifest(counting.wasm(), sandbox.Manifest{WarmUp: kind})
		require.NoError(t, err)
		require.Equal(t, want, scoresOf(t, func(r *sandbox.Runtime) *sandbox.Module { return load(t, r, wasm) }), kind)
	}
	for name, text := range map[string]string{
		"reward.py": "__merit__ = {'warm_up': 'off'}\nn = 0\ndef reward(messages):\n  global n\n  n += 1\n  return n\n",
		"reward.js": "export const merit = { warm_up: 'off' };\nlet n = 0;\nexport default () => ++n;\n",
	} {
		require.Equal(t, 1.0, scoresOf(t, func(r *sandbox.Runtime) *sandbox.Module {
			m, err := loadScript(t, r, name, text)
			require.NoError(t, err)
			require.Equal(t, sandbox.WarmUpOff, m.Manifest().WarmUp)
			return m
		}), name)
	}
}

// Promise: evaluations begin from what a warm-up of the reward's own has left,
// memory that it took included, with the same fuel in every isolation; so do
// those of a module that starts anew each time.
func TestOwnWarmUps(t *testing.T) {
	grown := guest{
		evaluate: add(1) + wt.MemorySize + wt.Code("\xac") + wt.GlobalGet(0) + wt.I64Add + wt.Code("\xb9") + wt.Call(setScore) + scored, // i64.extend_i32_s
		change:   withBody("merit_warm_up", add(10)+wt.I32Const(3)+wt.MemoryGrow+wt.Drop),
	}
	for what, change := range map[string]func(*wt.Module){
		"restored": func(*wt.Module) {},
		"always fresh": func(m *wt.Module) {
			m.Tables = []wt.Table{{Size: wt.Size{Min: 1}}}
			m.Funcs = append(m.Funcs, wt.Func{Body: wt.I32Const(0) + wt.RefNull(wt.FuncRef) + wt.TableSet(0)})
		},
	} {
		m := grown.module()
		change(&m)
		require.Equal(t, 4.0+3+10+1, scoresOf(t, func(r *sandbox.Runtime) *sandbox.Module { return load(t, r, m.Bytes()) }), what)
	}
}

// Promise: a warm-up of the reward's own may use what a start may, so that an
// expensive first call is paid once.
func TestWarmUpPaysForTheFirstCall(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk", "python", "examples", "table.py"))
	require.NoError(t, err)
	x := small()
	x.Messages[3].Content = rl.Text("144")
	evaluate := func(text string) reward.Evaluation {
		m, err := loadScript(t, newRuntime(t, func(c *sandbox.Config) { c.Workers, c.Fuel, c.CacheDir = 1, 1_000_000, cacheDir(t) }), "reward.py", text)
		require.NoError(t, err)
		return m.Evaluate(context.Background(), x)
	}
	e := evaluate(string(text))
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 1.0, e.Result.Score)
	require.Equal(t, reward.OutOfFuel, evaluate(strings.Replace(string(text), "@warm_up\n", "", 1)).Outcome)

	loop := wt.I64Const(0) + wt.GlobalSet(0) + wt.Loop(add(1)+wt.GlobalGet(0)+wt.I64Const(1_000_000)+wt.I64LtS+wt.BrIf(0))
	slow := counting
	slow.change = withBody("merit_warm_up", loop)
	wasm := slow.wasm()
	require.Equal(t, 1_000_001.0, load(t, newRuntime(t, func(c *sandbox.Config) { c.Fuel = 10_000 }), wasm).Evaluate(context.Background(), small()).Result.Score)
}

// Promise: an evaluation that is out of fuel says how much it took of how much,
// and what helps; what it says of --fuel does.
func TestOutOfFuelSaysWhatHelps(t *testing.T) {
	loop := func(fuel uint64, name, text string) reward.Evaluation {
		m, err := loadScript(t, newRuntime(t, func(c *sandbox.Config) { c.Workers, c.Fuel, c.CacheDir = 1, fuel, cacheDir(t) }), name, text)
		require.NoError(t, err)
		return m.Evaluate(context.Background(), small())
	}
	const python = "__merit__ = {'warm_up': 'off'}\ndef reward(messages): return sum(range(20_000)) * 0 + 1\n"
	for name, c := range map[string]struct{ text, once string }{
		"reward.py": {python, "a function marked with @warm_up"},
		"reward.js": {"export const merit = { warm_up: 'off' };\nexport default () => { let n = 0; for (let i = 0; i < 20_000; i++) n += i; return 1; };\n", "an exported function warmUp"},
	} {
		e := loop(400_000, name, c.text)
		require.Equal(t, reward.OutOfFuel, e.Outcome)
		require.Regexp(t, `^the evaluation used up its fuel \(sandbox\.fuel\): it took \d+ of 400000 units; allow more with --fuel 1600000, or .* in `+c.once, e.Reason)
		require.GreaterOrEqual(t, e.Fuel, uint64(400_000))
		require.Equal(t, reward.Scored, loop(50_000_000, name, c.text).Outcome)
	}
	e := load(t, newRuntime(t, func(c *sandbox.Config) { c.Fuel = 1000 }), guest{evaluate: wt.Loop(wt.Br(0)) + scored}.wasm()).Evaluate(context.Background(), small())
	require.Contains(t, e.Reason, "of 1000 units; allow more with --fuel 4000")
	require.Contains(t, e.Reason, "merit_warm_up")
}

// Promise: a start that goes wrong says which limit it met and what to do, and
// a reward that says two things of its warm-up is refused.
func TestWarmUpsThatAreRefused(t *testing.T) {
	few := func(c *sandbox.Config) { c.StartFuel, c.Fuel, c.CacheDir = 1_000_000_000, 1_000_000, cacheDir(t) }
	endless := "from merit_reward import warm_up\n@warm_up\ndef ready():\n  while True: pass\ndef reward(messages): return 1\n"
	for _, c := range []struct{ name, text, want, hint string }{
		{"a.py", endless, "sandbox.start_fuel: 1000000000", "raise sandbox.start_fuel"},
		{"b.js", "export function warmUp() { for (;;); }\nexport default () => 1;\n", "sandbox.start_fuel: 1000000000", "raise sandbox.start_fuel"},
		{"c.py", "import merit\n@merit.warm_up\ndef ready(): raise ValueError('no table')\ndef reward(messages): return 1\n", "ValueError: no table", "correct the reward"},
		{"d.py", "import merit\n@merit.warm_up\ndef ready(): bytearray(1 << 30)\ndef reward(messages): return 1\n", "MemoryError", "sandbox.memory_mib"},
		{"e.js", "export async function warmUp() {}\nexport default () => 1;\n", "warmUp is async", ""},
		{"f.js", "export const merit = { warm_up: 'own' };\nexport default () => 1;\n", "exports no function warmUp", ""},
		{"g.js", "export const merit = { warm_up: 'off' };\nexport function warmUp() {}\nexport default () => 1;\n", "keep one of the two", ""},
		{"i.js", "export const merit = 5;\nexport default () => 1;\n", "export const merit is 5, not an object", ""},
		{"j.js", "export const merit = { warm_up: 5 };\nexport default () => 1;\n", "merit says warm_up: 5, which is no text", ""},
		{"k.js", "export const warmUp = 5;\nexport default () => 1;\n", "the module exports warmUp, which is no function", ""},
		{"l.py", "__merit__ = 'exact'\ndef reward(messages): return 1\n", "__merit__ is 'exact', not a dict", ""},
		{"h.py", "__merit__ = {'warm_up': 'twice'}\ndef reward(messages): return 1\n", `warm_up "twice" is neither`, ""},
	} {
		_, err := loadScript(t, newRuntime(t, few), c.name, c.text)
		require.ErrorContains(t, err, c.want, c.name)
		require.Contains(t, fault.As(err).Hint, c.hint, c.name)
	}
	own := func(body wt.Code) func(*wt.Module) { return withBody("merit_warm_up", body) }
	for name, c := range map[string]struct {
		change   func(*wt.Module)
		manifest sandbox.Manifest
		want     string
	}{
		"endless":      {own(wt.Loop(wt.Br(0))), sandbox.Manifest{}, "sandbox.start_fuel: 1000000000"},
		"error":        {own(wt.I32Const(0) + wt.I32Const(8) + wt.Call(fail)), sandbox.Manifest{}, "no table"},
		"trap":         {own(wt.Unreachable), sandbox.Manifest{}, "unreachable"},
		"score":        {own(score(1)), sandbox.Manifest{}, "the start and the warm-up must not send results"},
		"step":         {own(wt.I32Const(0) + wt.F64Const(1) + wt.Call(step)), sandbox.Manifest{}, "the start and the warm-up must not send results"},
		"metric":       {own(wt.I32Const(0) + wt.I32Const(0) + wt.F64Const(1) + wt.Call(metric)), sandbox.Manifest{}, "the start and the warm-up must not send results"},
		"off":          {own(wt.Nop), sandbox.Manifest{WarmUp: sandbox.WarmUpOff}, "keep one of the two"},
		"no export":    {nil, sandbox.Manifest{WarmUp: sandbox.WarmUpOwn}, "does not export merit_warm_up"},
		"another kind": {nil, sandbox.Manifest{WarmUp: "twice"}, `warm_up "twice" is neither`},
		"two signatures": {func(m *wt.Module) {
			m.Funcs = append(m.Funcs, wt.Func{Export: "merit_warm_up", Params: wt.I32})
		}, sandbox.Manifest{}, "its export merit_warm_up is (i32) -> (), not () -> ()"},
	} {
		wasm, err := sandbox.WithManifest(guest{change: c.change, data: "no table"}.wasm(), c.manifest)
		require.NoError(t, err)
		_, err = newRuntime(t, few).Load(context.Background(), name, wasm)
		require.ErrorContains(t, err, c.want, name)
	}
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Process} {
		wasm := guest{change: own(wt.Loop(wt.Br(0)))}.wasm()
		_, err := newRuntime(t, func(c *sandbox.Config) {
			c.StartFuel, c.WallClock, c.StartWallClock, c.Isolation = lasting, 20*time.Millisecond, 100*time.Millisecond, isolation
		}).Load(context.Background(), "slow", wasm)
		require.ErrorContains(t, err, "longer than a start may (sandbox.start_wall_clock: 100ms)", isolation)
		require.Contains(t, fault.As(err).Hint, "raise sandbox.start_wall_clock", isolation)
	}
	endlessStart := guest{change: withBody("_initialize", wt.Loop(wt.Br(0)))}.wasm()
	_, err := newRuntime(t, func(c *sandbox.Config) { c.Fuel, c.WallClock = lasting, 50*time.Millisecond }).Load(context.Background(), "slow", endlessStart)
	require.ErrorContains(t, err, "longer than sandbox.wall_clock")
	require.Contains(t, fault.As(err).Hint, "raise sandbox.wall_clock")
}

// Promise: what a script's start came to is kept for evaluations on any fuel,
// unless evaluations on that fuel are what warmed it up.
func TestStartsServeAnyFuel(t *testing.T) {
	cache := t.TempDir()
	scored := func(warmUp string, fuel uint64) (kept int) {
		r := newRuntime(t, func(c *sandbox.Config) { c.Workers, c.CacheDir, c.Fuel, c.WallClock = 1, cache, fuel, time.Hour })
		m, err := loadScript(t, r, "reward.js", "export const merit = { warm_up: '"+warmUp+"' };\nlet n = 0;\nexport default () => ++n;\n")
		require.NoError(t, err)
		e := m.Evaluate(context.Background(), small())
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		require.Equal(t, map[string]float64{"off": 1, "conversation": 3}[warmUp], e.Result.Score)
		require.NoError(t, filepath.WalkDir(cache, func(string, os.DirEntry, error) error { kept++; return nil }))
		return kept
	}
	for warmUp, again := range map[string]int{"off": 0, "conversation": 1} {
		first := scored(warmUp, 500_000_000)
		require.Equal(t, first, scored(warmUp, 500_000_000), warmUp)
		second := scored(warmUp, 600_000_000)
		require.Equal(t, again > 0, second > first, warmUp)
	}
}
