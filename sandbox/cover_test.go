package sandbox_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

func covering(c *sandbox.Config) { c.Cover = true }

// places lists the places that an evaluation reached.
func places(e reward.Evaluation) (set []int) {
	for i := range 64 * len(e.Cover) {
		if e.Cover[i/64]>>(i%64)&1 == 1 {
			set = append(set, i)
		}
	}
	return set
}

// Promise: coverage changes neither results nor fuel of a compiled reward. With the same cache on
// disk, the code with coverage and the code without are not mixed up.
func TestCoverageChangesNothing(t *testing.T) {
	wasm, list, cache := goGuest(t, "examples/gsm8k"), answers(t)[:20], t.TempDir()
	var want []byte
	for i, cover := range []bool{false, true, false, true} {
		m := load(t, newRuntime(t, func(c *sandbox.Config) { c.CacheDir, c.Cover = cache, cover }), wasm)
		require.Equal(t, i > 1, m.Cached())
		got := all(t, m, list)
		if i == 0 {
			want = got
		}
		require.Equal(t, string(want), string(got))
		require.Equal(t, cover, m.Evaluate(context.Background(), list[0]).Cover != nil)
		require.Equal(t, cover, m.Words() != nil)
	}
}

// Promise: what an evaluation reaches is the same in any run and at any parallelism, and does not
// include what an earlier evaluation reached. Two answers reach different places, in the author's own
// function.
func TestCoverageRepeats(t *testing.T) {
	wasm, list := goGuest(t, "examples/gsm8k"), answers(t)[:20]
	right, none := list[0], small()
	none.Messages[3].Content = rl.Text("I do not know")
	list = append(list, none)
	var want []reward.Evaluation
	m := load(t, newRuntime(t, covering), wasm)
	for _, x := range list {
		want = append(want, m.Evaluate(context.Background(), x))
	}
	fresh := load(t, newRuntime(t, covering, func(c *sandbox.Config) { c.Isolation = sandbox.Fresh }), wasm)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, x := range slices.Backward(list) {
				if e := m.Evaluate(context.Background(), x); !slices.Equal(e.Cover, want[i].Cover) {
					t.Errorf("%s reached other places", x.ID)
				}
			}
		})
	}
	wg.Wait()
	for i, x := range list[:3] {
		require.Equal(t, want[i].Cover, fresh.Evaluate(context.Background(), x).Cover)
	}
	a, b := places(m.Evaluate(context.Background(), right)), places(m.Evaluate(context.Background(), none))
	require.NotEqual(t, a, b)
	var own []string
	for _, i := range a {
		if _, _, what := m.Place(i); strings.HasPrefix(what, "main.") {
			own = append(own, what)
		}
	}
	require.NotEmpty(t, own)
	require.Contains(t, m.Words(), "####")
}

// Promise: an evaluation that is stopped has the places that it reached, and coverage moves no limit.
func TestCoverageOfWhatWasStopped(t *testing.T) {
	for _, c := range []struct {
		name     string
		evaluate wt.Code
		want     reward.Outcome
	}{
		{"a trap", wt.LocalGet(0) + wt.If(wt.Unreachable) + score(1) + scored, reward.Trap},
		{"no fuel", wt.LocalGet(0) + wt.If(wt.Loop(wt.Br(0))) + score(1) + scored, reward.OutOfFuel},
		{"too deep", wt.LocalGet(0) + wt.If(wt.LocalGet(0)+wt.LocalGet(1)+wt.Call(firstOwn+2)+wt.Drop) + score(1) + scored, reward.Trap},
		{"nothing", score(1) + scored, reward.Scored},
	} {
		wasm := guest{evaluate: c.evaluate}.wasm()
		plain := load(t, newRuntime(t, smallFuel), wasm).Evaluate(context.Background(), small())
		m := load(t, newRuntime(t, smallFuel, covering), wasm)
		e := m.Evaluate(context.Background(), small())
		require.Equal(t, c.want, e.Outcome, "%s: %s", c.name, e.Reason)
		require.NotEmpty(t, places(e), c.name)
		e.Cover, e.Elapsed = nil, plain.Elapsed
		require.Equal(t, plain, e, c.name)
	}
}

// Promise: a guest that writes to all of its memory and its globals cannot write to its coverage.
func TestCoverageCannotBeForged(t *testing.T) {
	m := load(t, newRuntime(t, covering), guest{
		evaluate: wt.I32Const(0) + wt.I32Const(255) + wt.I32Const(4<<16) + wt.MemoryFill + wt.I64Const(-1) + wt.GlobalSet(0) +
			wt.LocalGet(0) + "\x45" + wt.If(wt.Nop+wt.Nop) + score(1) + scored, // i32.eqz: never
	}.wasm())
	e := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Len(t, places(e), 2, "alloc and evaluate")
	require.Len(t, e.Cover, 1)
}

// Promise: coverage is refused where evaluations do not start from the same state in this process.
func TestCoverageTakesSnapshots(t *testing.T) {
	for _, isolation := range []sandbox.Isolation{sandbox.Shared, sandbox.Process} {
		c := sandbox.DefaultConfig()
		c.Cover, c.Isolation = true, isolation
		require.Len(t, c.Validate(), 1)
		require.ErrorContains(t, c.Validate()[0], "isolation")
	}
}

// rustReward looks for two words. The lines matter.
const rustReward = `use merit_reward::{register, Output, Rollout};

fn score(r: &Rollout, out: &mut Output) {
    let said = r.answer();
    if said.contains("the magic word") {
        out.score(1.0);
    } else if said == "please" {
        out.score(0.5);
    } else {
        out.score(0.0);
    }
}

register!(score);
`

// Promise: a reward with debug information has the lines of its places, and the words that it looks
// for.
func TestCoverageHasLines(t *testing.T) {
	testneeds.NotShort(t)
	rustc := testneeds.Tool(t, "on Debian: apt-get install rustc libstd-rust-dev-wasm32", "/usr/bin/rustc", "rustc")
	watch(t, "sdk/rust/src")
	dir := folder(t, map[string]string{"reward.rs": rustReward})
	common := []string{"--edition", "2021", "--target", "wasm32-unknown-unknown", "-C", "opt-level=0", "-C", "panic=abort", "-g"}
	for _, args := range [][]string{
		{"--crate-type", "rlib", "--crate-name", "merit_reward", "-o", "libmerit_reward.rlib", filepath.Join(testneeds.Root(), "sdk/rust/src/lib.rs")},
		{"--crate-type", "cdylib", "--extern", "merit_reward=libmerit_reward.rlib", "-o", "reward.wasm", "reward.rs"},
	} {
		cmd := exec.Command(rustc, append(slices.Clone(common), args...)...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
	}
	m, err := newRuntime(t, covering).LoadFile(context.Background(), filepath.Join(dir, "reward.wasm"))
	require.NoError(t, err)
	lines := func(text string) map[int]bool {
		x := small()
		x.Messages[3].Content = rl.Text(text)
		set := map[int]bool{}
		for _, i := range places(m.Evaluate(context.Background(), x)) {
			if file, line, _ := m.Place(i); file == "reward.rs" {
				set[line] = true
			}
		}
		return set
	}
	require.Subset(t, lines("well, the magic word"), map[int]bool{6: true})
	require.Subset(t, lines("please"), map[int]bool{8: true})
	for line, text := range map[int]string{6: "please", 8: "nothing", 10: "the magic word"} {
		require.NotContains(t, lines(text), line)
	}
	require.Subset(t, m.Words(), []string{"the magic word"})
}

// Promise: in JavaScript the interpreter's places tell answers apart, with the same result and the
// same fuel as without coverage, and the words are those of the script.
func TestCoverageOfJavaScript(t *testing.T) {
	const text = "// no 'word' here\nexport default function reward(rollout) {\n" +
		"  const said = rollout.messages.at(-1).content;\n  if (/^A: (\\d+)/.test(said)) return 1;\n  return said.includes('it\\'s four') ? 0.5 : 0;\n}\n"
	with := newRuntime(t, covering, func(c *sandbox.Config) { c.Workers, c.CacheDir = 2, cacheDir(t) })
	m, err := loadScript(t, with, "reward.js", text)
	require.NoError(t, err)
	plain, err := loadScript(t, oneWorker(t), "reward.js", text)
	require.NoError(t, err)
	seen := map[string][]uint64{}
	for _, said := range []string{"A: 4", "it's four", "five"} {
		x := small()
		x.Messages[3].Content = rl.Text(said)
		e, want := m.Evaluate(context.Background(), x), plain.Evaluate(context.Background(), x)
		require.Equal(t, e.Cover, m.Evaluate(context.Background(), x).Cover)
		seen[said] = e.Cover
		e.Cover, e.Elapsed = nil, want.Elapsed
		require.Equal(t, want, e)
	}
	require.NotEqual(t, seen["A: 4"], seen["five"])
	require.NotEqual(t, seen["it's four"], seen["five"])
	require.Subset(t, m.Words(), []string{"it's four", `^A: (\d+)`, "0.5"})
	require.NotContains(t, m.Words(), "word")
}

// pythonReward has a hole: any number in a box scores.
const pythonReward = `"""A reward."""
import re

BOXED = re.compile(r"\\boxed\{(\d+)\}")
HINTS = {"please": 1, "thanks": [2.5, "nested"]}


def last(text):
    """A docstring."""
    for line in text.split("\n"):
        if line.startswith("A:"):
            return line[2:].strip()
    return None


def reward(messages, ground_truth):
    said = messages[-1]["content"]
    got = last(said)
    if got is None:
        box = BOXED.search(said)
        if not box:
            return {"score": 0.0, "reason": "no answer"}
        return 1.0
    truth = ground_truth.rjust(3, "0")
    same = got.rjust(3, "0") == truth
    return 1.0 if same else 0.25
`

// Promise: a reward in Python reports the lines and the branches that ran, the same in every run, and
// the texts that it held. Scores and reasons are those without coverage.
func TestCoverageOfPython(t *testing.T) {
	with := newRuntime(t, covering, func(c *sandbox.Config) { c.Workers, c.CacheDir = 2, cacheDir(t) })
	m, err := loadScript(t, with, "reward.py", pythonReward)
	require.NoError(t, err)
	plain, err := loadScript(t, oneWorker(t), "reward.py", pythonReward)
	require.NoError(t, err)
	for said, want := range map[string]struct {
		lines, not []int
		words      []string
	}{
		"A: 4":        {lines: []int{12, 19, 24, 26}, not: []int{13, 20}, words: []string{"004", "4", "A: 4"}},
		`\boxed{17}`:  {lines: []int{13, 20, 23}, not: []int{22, 24}, words: []string{`\boxed{17}`}},
		"what is it?": {lines: []int{13, 20, 22}, not: []int{23, 24}},
	} {
		x := small()
		x.Messages[3].Content = rl.Text(said)
		e, without := m.Evaluate(context.Background(), x), plain.Evaluate(context.Background(), x)
		again := m.Evaluate(context.Background(), x)
		require.Equal(t, e.Cover, again.Cover)
		require.Equal(t, e.Words, again.Words)
		require.Equal(t, e.Fuel, again.Fuel)
		lines := map[int]bool{}
		for _, i := range places(e) {
			file, line, what := m.Place(i)
			require.Equal(t, "reward.py", file)
			require.NotEmpty(t, what)
			lines[line] = true
		}
		for _, line := range want.lines {
			require.Contains(t, lines, line, said)
		}
		for _, line := range want.not {
			require.NotContains(t, lines, line, said)
		}
		require.Subset(t, e.Words, want.words, said)
		require.Equal(t, without.Result, e.Result)
		t.Logf("%q: %d fuel, %d without", said, e.Fuel, without.Fuel)
	}
	require.Subset(t, m.Words(), []string{`\\boxed\{(\d+)\}`, "please", "nested", "2.5", "A:", "0.25", "no answer"})
	for _, w := range []string{"A reward.", "A docstring."} {
		require.NotContains(t, m.Words(), w)
	}
}

// Promise: a reward in Python that writes to its own coverage, or stops it, changes neither its size
// nor its score.
func TestCoverageOfHostilePython(t *testing.T) {
	with := newRuntime(t, covering, func(c *sandbox.Config) { c.Workers, c.CacheDir = 1, cacheDir(t) })
	for name, body := range map[string]string{
		"writes":   "c._hit[:] = b'\\xff' * len(c._hit); c._texts[:] = b'\\xff' * len(c._texts)",
		"texts":    "c._texts[:] = (b'\\x02\\xff\\xfe' + b'\\x02ab') * 800",
		"grows":    "c._hit.extend(bytes(1 << 20)); c._texts.extend(b'\\x01a' * (1 << 19))",
		"shrinks":  "c._hit.clear(); c._texts.clear()",
		"empties":  "c._lines.clear(); c._branches.clear()",
		"stops":    "sys.monitoring.free_tool_id(sys.monitoring.COVERAGE_ID)",
		"restarts": "sys.monitoring.restart_events()",
	} {
		m, err := loadScript(t, with, "reward.py", "import sys\nfrom merit_reward import _cover as c\n\ndef reward(messages):\n    try:\n        "+body+
			"\n    except BaseException:\n        pass\n    return 0.5\n")
		require.NoError(t, err, name)
		size := len(m.Evaluate(context.Background(), small()).Cover)
		e := m.Evaluate(context.Background(), small())
		require.Len(t, e.Cover, size, name)
		require.Equal(t, 1, size, name)
		require.LessOrEqual(t, len(e.Words), 2048, name)
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", name, e.Reason)
		require.Equal(t, 0.5, e.Result.Score, name)
	}
}

// Promise: a reward in Python that is stopped has the lines that it reached. Coverage is the same on
// several workers, in fresh instances, and from the cache; other files of the reward have places, and
// packages have none.
func TestCoverageOfPythonRepeats(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	needInterpreters(t)
	dir := folder(t, map[string]string{
		"reward.py": "from helper import same\nimport other\n\nasync def reward(messages, ground_truth):\n    text = messages[-1]['content']\n" +
			"    if text == 'hang':\n        while True: pass\n    if text == 'deep':\n        f = lambda n: sorted([n], key=f)\n        return f(1)\n" +
			"    if text == 'fill':\n        return len([bytes(1 << 20) for _ in range(1 << 20)])\n    return other.one(same(text, ground_truth))\n",
		"helper.py":         "def same(a, b):\n    for c in a:\n        if c not in b:\n            return 0.0\n    return 1.0\n",
		"packages/other.py": "def one(x):\n    return x\n",
	})
	cache := filepath.Join(t.TempDir(), "cache")
	var want map[string]reward.Evaluation
	for i, change := range []func(*sandbox.Config){
		func(c *sandbox.Config) {}, func(c *sandbox.Config) { c.Workers = 4 }, func(c *sandbox.Config) { c.Isolation = sandbox.Fresh },
	} {
		m, err := newRuntime(t, covering, func(c *sandbox.Config) { c.CacheDir, c.Fuel, c.Workers = cache, hostileFuel, 1 }, change).LoadFile(context.Background(), dir)
		require.NoError(t, err)
		got := map[string]reward.Evaluation{}
		for _, text := range []string{"4", "5", "hang", "deep", "fill"} {
			x := small()
			x.Messages[3].Content = rl.Text(text)
			e := m.Evaluate(context.Background(), x)
			e.Elapsed = 0
			got[text] = e
		}
		if i == 0 {
			want = got
			files := map[string]bool{}
			for n := range 64 * len(got["4"].Cover) {
				file, _, _ := m.Place(n)
				files[file] = true
			}
			require.Equal(t, map[string]bool{"reward.py": true, "helper.py": true, "": true}, files)
			lines := func(text string) (set []int) {
				for _, n := range places(got[text]) {
					if file, line, _ := m.Place(n); file == "reward.py" {
						set = append(set, line)
					}
				}
				return set
			}
			for text, line := range map[string]int{"hang": 7, "deep": 10, "fill": 12} {
				require.NotEqual(t, reward.Scored, got[text].Outcome)
				require.Contains(t, lines(text), line, text)
				require.NotContains(t, lines("4"), line)
			}
		}
		require.Equal(t, want, got)
	}
	require.NotEqual(t, want["4"].Cover, want["5"].Cover)
}
