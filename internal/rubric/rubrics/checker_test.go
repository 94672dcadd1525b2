package rubrics_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// open returns a checker that caches native code, so that interpreters load fast.
func open(t testing.TB, change func(*rubrics.Config, *sandbox.Config)) *rubrics.Checker {
	t.Helper()
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	c, s := rubrics.DefaultConfig(), sandbox.DefaultConfig()
	s.CacheDir = filepath.Join(filepath.Dir(interpreter.Folder()), "test")
	if change != nil {
		change(&c, &s)
	}
	for _, err := range c.Validate() {
		require.NoError(t, err)
	}
	k, err := rubrics.Open(context.Background(), c, rubrics.Options{Sandbox: s})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	require.NoError(t, k.Ready(context.Background()))
	return k
}

func workflow(texts ...string) *rubric.Workflow {
	w := &rubric.Workflow{Task: "Say hello.", Inputs: []rubric.Resource{{Name: "names.csv", Kind: rubric.Table, Text: "name\nAda\n"}}}
	for _, text := range texts {
		w.Outputs = append(w.Outputs, rubric.Output{Worker: "secret", Resources: []rubric.Resource{{Name: "hello.md", Kind: rubric.Document, Text: text}}})
	}
	return w
}

type hostile struct {
	name, code string
	want       reward.Outcome
	reason     string // part of it
}

var hostilePython = []hostile{
	{"bool", "def rule(output, task): return output['text'] == 'hello'", reward.Scored, ""},
	{"int", "def rule(output, task): return 1", reward.Scored, ""},
	{"with a reason", "def rule(output, task): return {'score': 0.5, 'reason': 'half'}", reward.Scored, "half"},
	{"sees the task", "def rule(o, t):\n  assert t['text'] == 'Say hello.' and t['inputs'][0]['text'] == 'name\\nAda\\n' and t['inputs'][0]['name'] == 'names.csv'\n  return True", reward.Scored, ""},
	{"does not see the worker", "def rule(o, t):\n  import gc\n  assert 'secret' not in repr((o, t)) and sorted(o) == ['resources', 'text']\n  return True", reward.Scored, ""},
	{"syntax error", "def rule(output, task):\n  return (", reward.GuestError, "line 2: SyntaxError"},
	{"no rule", "def other(output, task): return 1", reward.GuestError, "no function rule"},
	{"rule is not a function", "rule = 3", reward.GuestError, "no function rule"},
	{"raises", "def rule(output, task):\n  x = 1\n  return x / 0", reward.GuestError, "line 3: ZeroDivisionError"},
	{"raises elsewhere", "import json\ndef rule(output, task):\n\n  return json.loads('{')", reward.GuestError, "line 4: JSONDecodeError"},
	{"NaN", "def rule(output, task): return float('nan')", reward.ABIViolation, "line 1 returned nan"},
	{"infinity", "def rule(output, task): return float('inf')", reward.ABIViolation, "returned inf"},
	{"one and a half", "\ndef rule(output, task): return 1.5", reward.ABIViolation, "line 2 returned 1.5"},
	{"below zero", "def rule(output, task): return -1e-9", reward.ABIViolation, "returned -1e-09"},
	{"text", "def rule(output, task): return 'good'", reward.ABIViolation, "str 'good'"},
	{"nothing", "def rule(output, task): pass", reward.ABIViolation, "NoneType"},
	{"a huge number", "def rule(output, task): return 10 ** 400", reward.ABIViolation, "returned"},
	{"loop", "def rule(output, task):\n  while True: pass", reward.OutOfFuel, ""},
	{"loop that catches all", "def rule(output, task):\n  while True:\n    try:\n      while True: pass\n    except BaseException: pass", reward.OutOfFuel, ""},
	{"memory", "def rule(output, task):\n  return len('x' * (1 << 30))", reward.OutOfMemory, ""},
	{"deep recursion", "def rule(output, task): return rule(output, task)", reward.GuestError, "RecursionError"},
	{"deep expression", "def rule(output, task): return " + strings.Repeat("(", 300), reward.GuestError, "too complex"},
	{"deeper expression", "def rule(output, task): return " + strings.Repeat("[", 190) + strings.Repeat("]", 190), reward.GuestError, "too complex"},
	{"huge reason", "def rule(output, task): return {'score': 1, 'reason': 'x' * (1 << 20)}", reward.OutputLimit, ""},
	{"print flood", "def rule(output, task):\n  while True: print('x' * 10000)", reward.OutOfFuel, ""},
	{"sys.exit", "import sys\ndef rule(output, task): sys.exit(0)", reward.GuestError, "line 2: SystemExit"},
	{"os._exit", "import os\ndef rule(output, task): os._exit(0)", reward.ABIViolation, ""},
	{"BaseException", "class E(BaseException): pass\ndef rule(output, task): raise E('no')", reward.GuestError, "line 2: E: no"},
	{"abort", "import os\ndef rule(output, task): os.abort()", reward.Trap, ""},
	{"files", "def rule(output, task): return open('/etc/passwd')", reward.GuestError, "FileNotFoundError"},
	{"network", "import socket\ndef rule(output, task): socket.create_connection(('127.0.0.1', 80))", reward.GuestError, "Error"},
	{"error that says nothing about itself", "class E(Exception):\n  def __str__(self): raise E\ndef rule(output, task): raise E", reward.GuestError, ""},

	// Attacks of a rule on the runner, which shares its interpreter.
	{"forges 2 by the runner's types", "import builtins\ndef rule(output, task):\n  builtins.isinstance = lambda *a: True\n  builtins.float = lambda v: 2.0\n  return 1", reward.GuestError, "broke the interpreter"},
	{"forges NaN by comparing", "class X(float):\n  def __ge__(s, o): return True\n  def __le__(s, o): return True\ndef rule(output, task): return X('nan')", reward.ABIViolation, ""},
	{"answers for the runner", "def rule(output, task):\n  import sys\n  sys._getframe(1).f_globals['failed'] = lambda e: {'score': 7.0}\n  raise ValueError", reward.ABIViolation, "the score is 7"},
	{"answers with metrics", "def rule(output, task):\n  import sys\n  sys._getframe(1).f_globals['failed'] = lambda e: {'score': 0.5, 'metrics': {'alignment': 1.0}}\n  raise ValueError", reward.Scored, ""},
	{"answers with steps", "def rule(output, task):\n  import sys\n  sys._getframe(1).f_globals['failed'] = lambda e: {'score': 0.5, 'step_outputs': [{'step_index': 0, 'base_reward': 9.0}]}\n  raise ValueError", reward.ABIViolation, "step"},
	{"opens a program", "from merit_reward._programs import Program\ndef rule(output, task):\n  Program('javascript')\n  return 1", reward.GuestError, "line 3: RuntimeError: programs cannot be opened here"},
	{"a reason that never ends", "class R:\n  def __str__(s): return str(s)\ndef rule(output, task): return {'score': 1, 'reason': R()}", endless(), ""},
	{"a reason that is not text", "def rule(output, task): return {'score': 1, 'reason': '\\ud800'}", reward.ABIViolation, "not valid UTF-8"},
	{"an audit hook that raises", "import sys\ndef rule(output, task):\n  sys.addaudithook(lambda *a: 1 / 0)\n  return 1", reward.GuestError, "broke the interpreter"},
	{"a number that is another", "class I(int):\n  def __le__(s, o): return True\n  def __ge__(s, o): return True\n  def __float__(s): return float('inf')\ndef rule(output, task): return I(7)", reward.ABIViolation, "not a finite number"},
	{"a parser bomb", "import ast\ndef rule(output, task):\n  ast.parse('(' * 80 + '-' * 60000 + '1' + ')' * 80)\n  return 1", reward.GuestError, "MemoryError"},
	{"removes the built-in functions", "import builtins\ndef rule(output, task):\n  builtins.__dict__.clear()\n  return 1", reward.GuestError, ""},
}

// endless returns the outcome of a recursion through C, which npm's CPython does not count.
func endless() reward.Outcome {
	if interpreter.Python().Lacks() == "" {
		return reward.GuestError
	}
	return reward.Trap
}

var hostileJavaScript = []hostile{
	{"bool", "function rule(output, task) { return output.text === 'hello'; }", reward.Scored, ""},
	{"arrow", "const rule = (output) => ({ score: 0.5, reason: 'half' });", reward.Scored, "half"},
	{"sees the task", "const rule = (o, t) => t.text === 'Say hello.' && t.inputs[0].name === 'names.csv' && !JSON.stringify([o, t]).includes('secret') ? 1 : 0;", reward.Scored, ""},
	{"syntax error", "function rule(output, task) {\n  return (;\n}", reward.GuestError, "line 2: SyntaxError"},
	{"no rule", "function other() {}", reward.GuestError, "no function rule"},
	{"throws", "function rule() {\n\n  throw new TypeError('no');\n}", reward.GuestError, "line 3: TypeError: no"},
	{"throws text", "function rule() { throw 'no'; }", reward.GuestError, "thrown: no"},
	{"NaN", "const rule = () => NaN;", reward.ABIViolation, "NaN"},
	{"one and a half", "const rule = () => 1.5;", reward.ABIViolation, "1.5"},
	{"text", "const rule = () => 'good';", reward.ABIViolation, `string "good"`},
	{"nothing", "function rule() {}", reward.ABIViolation, "undefined"},
	{"a getter that loops", "function rule() { return { get score() { for (;;); } }; }", reward.OutOfFuel, ""},
	{"writes its own JSON", "JSON.stringify = () => '{'; function rule() { return 1; }", reward.ABIViolation, "no"},
	{"promise", "async function rule() { return 1; }", reward.ABIViolation, "object"},
	{"loop", "function rule() { for (;;); }", reward.OutOfFuel, ""},
	{"memory", "function rule() { const x = []; for (;;) x.push(new Uint8Array(1 << 20)); }", reward.OutOfMemory, ""},
	{"deep recursion", "function rule() { return rule(); }", reward.GuestError, ""},
	{"huge reason", "const rule = () => ({ score: 1, reason: 'x'.repeat(270000) });", reward.OutputLimit, ""},
	{"print flood", "function rule() { for (;;) console.log('x'.repeat(10000)); }", reward.OutOfFuel, ""},

	{"forges 2 by Number", "function rule() { globalThis.Number = () => 2; return 1; }", reward.ABIViolation, "2"},
	{"answers for the runner", "function rule() { const s = JSON.stringify; JSON.stringify = () => '{\"results\":[{\"score\":7}],\"log\":[]}'; return 1; }", reward.ABIViolation, "7"},
	{"replaces serve", "function rule() { globalThis.__merit = null; return 0.25; }", reward.Scored, ""},
	{"removes all", "function rule() { for (const k of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[k]; } catch {} } return 0.25; }", reward.GuestError, ""},
}

// Promise: whatever a rule does, its verdict is a score from 0 to 1 or a typed outcome whose
// reason says why, with the line; repeating it gives the same verdict.
func TestHostileRules(t *testing.T) {
	k := open(t, nil)
	w := workflow("hello")
	for language, cases := range map[rubric.Language][]hostile{rubric.Python: hostilePython, rubric.JavaScript: hostileJavaScript} {
		for _, c := range cases {
			t.Run(string(language)+"/"+c.name, func(t *testing.T) {
				v := k.Check(t.Context(), rubric.Rule{Language: language, Code: c.code}, w, 0)
				require.Equal(t, c.want, v.Outcome, v.Reason)
				require.Contains(t, v.Reason, c.reason)
				require.Equal(t, v.Outcome == reward.Scored, v.Score != nil)
				require.LessOrEqual(t, len(v.Reason), 510)
				if v.Score != nil {
					require.True(t, *v.Score >= 0 && *v.Score <= 1)
				} else {
					require.NotEmpty(t, v.Reason)
				}
				require.Equal(t, v, k.Check(t.Context(), rubric.Rule{Language: language, Code: c.code}, w, 0))
			})
		}
	}
}
