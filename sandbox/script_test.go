package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// folder writes files into a new folder.
func folder(t testing.TB, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// needInterpreters lets a test stand aside where scripts cannot run.
func needInterpreters(t testing.TB) {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
}

// loadScript loads a reward from source: the file named, in a new folder.
func loadScript(t testing.TB, r *sandbox.Runtime, name, text string) (*sandbox.Module, error) {
	needInterpreters(t)
	return r.LoadFile(context.Background(), filepath.Join(folder(t, map[string]string{name: text}), name))
}

// oneWorker keeps native code, so that interpreters load fast.
func oneWorker(t testing.TB) *sandbox.Runtime {
	return newRuntime(t, func(c *sandbox.Config) { c.Workers, c.CacheDir = 1, cacheDir(t) })
}

func cacheDir(t testing.TB) string {
	return filepath.Join(filepath.Dir(interpreter.Folder()), "test")
}

// Promise: what one evaluation leaves behind no other sees, and any number of
// workers gives the same bytes.
func TestScriptsStartFresh(t *testing.T) {
	for name, text := range map[string]string{
		"reward.py": "import random\nseen = []\ndef reward(messages):\n  seen.append(1)\n  return {'score': len(seen), 'reason': f'{random.random()} {hash(\"x\")} {id(seen)}'}\n",
		"reward.js": "const seen = [];\nexport default function () { seen.push(1); return { score: seen.length, reason: String(Math.random()) }; }\n",
	} {
		var want []reward.Evaluation
		for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Fresh} {
			r := newRuntime(t, func(c *sandbox.Config) { c.Workers, c.Isolation, c.CacheDir = 2, isolation, cacheDir(t) })
			m, err := loadScript(t, r, name, text)
			require.NoError(t, err)
			for range 3 {
				e := m.Evaluate(context.Background(), small())
				e.Elapsed = 0
				want = append(want, e)
				require.Equal(t, want[0], e)
			}
		}
	}
}

// Promise: a script that an earlier process has started is not started again,
// and is the same: what it says of itself, results, fuel. Another text is
// another script.
func TestOriginsAreKept(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	dir := filepath.Join(t.TempDir(), "cache")
	entries := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "v*", "*", "content"))
		require.NoError(t, err)
		return len(found)
	}
	text := "export const merit = { name: 'kept', step_index: 'message' };\nconst born = Math.random();\n" +
		"export default function reward(rollout) { return { score: %d, reason: String(born) + rollout.id }; }\n"
	var want reward.Evaluation
	for i, score := range []int{1, 1, 2, 1} {
		r := newRuntime(t, func(c *sandbox.Config) { c.CacheDir = dir })
		m, err := loadScript(t, r, "reward.js", fmt.Sprintf(text, score))
		require.NoError(t, err)
		require.Equal(t, []int{1, 1, 2, 2}[i], entries())
		require.Equal(t, i > 0, m.Cached())
		require.Equal(t, "kept", m.Info().Name)
		require.Equal(t, reward.ByMessage, m.Info().StepIndexing)
		e := m.Evaluate(context.Background(), small())
		e.Elapsed = 0
		if i == 0 {
			want = e
		}
		want.Result.Score = float64(score)
		require.Equal(t, want, e)
	}
}

// Promise: an author reads the traceback of his own file, without ours.
func TestScriptTracebacks(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	r := oneWorker(t)
	m, err := loadScript(t, r, "reward.py", "def helper(x):\n    return 1 / x\n\ndef reward(messages):\n    return helper(0)\n")
	require.NoError(t, err)
	e := m.Evaluate(context.Background(), small())
	carets := "           ^^^^^^^^^\n"
	if interpreter.Python().Version != "3.12" {
		carets = "" // newer versions of Python mark only a part of a line
	}
	require.Equal(t, `Traceback (most recent call last):
  File "/reward/reward.py", line 5, in reward
    return helper(0)
`+carets+`  File "/reward/reward.py", line 2, in helper
    return 1 / x
           ~~^~~
ZeroDivisionError: division by zero`, e.Reason)
	for name, c := range map[string][2]string{
		"reward.py": {"def reward(messages)\n  return 1\n", "SyntaxError"},
		"other.py":  {"x = 1\n", "the module has no reward"},
		"import.py": {"import torch\n", "No module named 'torch'"},
		"odd.py":    {"__merit__ = {'color': 'red'}\ndef reward(messages): return 1\n", "color"},
		"reward.js": {"export default function ( {\n", "SyntaxError"},
		"other.js":  {"export const x = 1;\n", "exports no reward"},
	} {
		_, err := loadScript(t, r, name, c[0])
		require.ErrorContains(t, err, c[1], name)
		require.NotNil(t, fault.As(err), name)
	}
}

// Promise: a reward may be called like a module of the standard library.
func TestScriptNamedLikeAModule(t *testing.T) {
	m, err := loadScript(t, oneWorker(t), "re.py", "import re, json, traceback\ndef reward(messages): return float(re.match('[0-9]+', '42').group())\n")
	require.NoError(t, err)
	require.Equal(t, "re", m.Info().Name)
	require.Equal(t, 42.0, m.Evaluate(context.Background(), small()).Result.Score)
}

// Promise: a folder brings its packages, and its data, and nothing outside of
// it: links are refused.
func TestScriptFolder(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	needInterpreters(t)
	r := oneWorker(t)
	dir := folder(t, map[string]string{
		"reward.py":                             "from pkg.words import words\ndef reward(messages): return len(words())\n",
		"pkg/__init__.py":                       "",
		"pkg/words.py":                          "import os\ndef words():\n  with open(os.path.join(os.path.dirname(__file__), 'words.txt')) as f: return f.read().split()\n",
		"pkg/words.txt":                         "one two three\n",
		".git/config":                           "secret",
		"node_modules/x.js":                     "secret",
		"pkg/__pycache__/words.cpython-312.pyc": "what Python left behind",
	})
	m, err := r.LoadFile(context.Background(), dir)
	require.NoError(t, err)
	require.Equal(t, 3.0, m.Evaluate(context.Background(), small()).Result.Score)
	digest := m.Info().Digest
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pkg", "words.txt"), []byte("one\n"), 0o600))
	m, err = r.LoadFile(context.Background(), dir)
	require.NoError(t, err)
	require.Equal(t, 1.0, m.Evaluate(context.Background(), small()).Result.Score)
	require.NotEqual(t, digest, m.Info().Digest)
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "etc")))
	_, err = r.LoadFile(context.Background(), dir)
	require.ErrorContains(t, err, "not a regular file")
}

// Promise: the files of a JavaScript reward find one another whatever they are
// called, and one that is missing is named.
func TestJavaScriptFolder(t *testing.T) {
	needInterpreters(t)
	r := oneWorker(t)
	files := map[string]string{
		"reward.js":  "import { one } from './a/first.js';\nexport default () => one();\n",
		"a/first.js": "import { two } from '../z/last.js';\nexport const one = () => two() - 1;\n",
		"z/last.js":  "export const two = () => 3;\n",
	}
	m, err := r.LoadFile(context.Background(), folder(t, files))
	require.NoError(t, err)
	require.Equal(t, 2.0, m.Evaluate(context.Background(), small()).Result.Score)
	delete(files, "z/last.js")
	_, err = r.LoadFile(context.Background(), folder(t, files))
	require.ErrorContains(t, err, "last.js")
}

// Promise: the small rewards that the documentation shows work as they stand.
func TestDocumentedScripts(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	r := oneWorker(t)
	for file, want := range map[string]float64{
		"sdk/python/examples/length.py": 0.04, "sdk/python/examples/by_message.py": 1,
		"sdk/js/examples/exact.js": 0, "sdk/js/examples/last.js": 0,
	} {
		text, err := os.ReadFile(filepath.Join(testneeds.Root(), file))
		require.NoError(t, err)
		m, err := loadScript(t, r, filepath.Base(file), string(text))
		require.NoError(t, err, file)
		e := m.Evaluate(context.Background(), small())
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", file, e.Reason)
		require.Equal(t, want, e.Result.Score, file)
	}
}

// Promise: without an interpreter the error says which one, whatever the
// isolation, so that the command can name the verb that gets it.
func TestScriptWithoutInterpreter(t *testing.T) {
	nothing := func(c *sandbox.Config) { c.InterpreterDir = t.TempDir() }
	for _, r := range []*sandbox.Runtime{newRuntime(t, nothing), newRuntime(t, nothing, inProcesses(1))} {
		for ext, name := range map[string]string{".py": "python", ".js": "js"} {
			_, err := r.LoadFile(context.Background(), filepath.Join(folder(t, map[string]string{"a" + ext: ""}), "a"+ext))
			var missing *interpreter.Missing
			require.ErrorAs(t, err, &missing)
			require.Equal(t, name, missing.Interpreter.Name)
		}
	}
}

// BenchmarkScripts evaluates with a full restore after every call.
func BenchmarkScripts(b *testing.B) {
	r := oneWorker(b)
	for name, text := range map[string]string{
		"reward.py": "def reward(messages): return len(messages[-1]['content'])\n",
		"reward.js": "export default (r) => r.messages.at(-1).content.length;\n",
	} {
		b.Run(name, func(b *testing.B) {
			m, err := loadScript(b, r, name, text)
			require.NoError(b, err)
			x := small()
			for b.Loop() {
				require.Equal(b, reward.Scored, m.Evaluate(context.Background(), x).Outcome)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
		})
	}
}

// Promise: a byte of text that a reward does not look at costs Python a few
// units of fuel: it is copied once.
func TestPythonReadsCheaply(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	m, err := loadScript(t, oneWorker(t), "reward.py", "def reward(messages):\n  return 1\n")
	require.NoError(t, err)
	cost := func(bytes int) uint64 {
		x := &rl.Trajectory{ID: "a"}
		for i := range 4 { // each begins at another place in a word of memory
			x.Messages = append(x.Messages, rl.Message{Role: rl.RoleUser, Content: rl.Text(strings.Repeat("x", bytes/4+i%2))})
		}
		e := m.Evaluate(context.Background(), x)
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		return e.Fuel
	}
	require.Less(t, cost(30_000)-cost(10_000), uint64(8*20_000))
}
