package sandbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// hostileScript is the body of a function and its result.
type hostileScript struct {
	name, body string
	want       reward.Outcome
	reason     string
}

var hostilePython = []hostileScript{
	{"infinite loop", "while True: pass", reward.OutOfFuel, "sandbox.fuel"},
	{"catastrophic expression", "re.match('(a*)*b', 'a' * 40)", reward.OutOfFuel, ""},
	{"loop that catches everything", "while True:\n    try:\n      while True: pass\n    except BaseException: pass", reward.OutOfFuel, ""},
	{"memory bomb", "x = []\n  while True: x.append(bytearray(1 << 20))", reward.OutOfMemory, "MemoryError"},
	{"one huge string", "'x' * (1 << 30)", reward.OutOfMemory, "MemoryError"},
	{"recursion", "f = lambda: f()\n  f()", reward.GuestError, "RecursionError"},
	{"recursion in C", "x = []\n  for i in range(5000): x = [x]\n  repr(x)", reward.GuestError, "RecursionError"},
	{"sys.exit", "sys.exit(3)", reward.GuestError, "SystemExit: 3"},
	{"os._exit", "os._exit(0)", reward.ABIViolation, "exited"},
	{"os._exit with a status", "os._exit(7)", reward.Trap, "status 7"},
	{"abort", "os.abort()", reward.Trap, ""},
	{"open", "open('/etc/passwd')", reward.GuestError, "FileNotFoundError"},
	{"open by os", "os.open('/etc/passwd', os.O_RDONLY)", reward.GuestError, "FileNotFoundError"},
	{"leave the root", "os.listdir('/../../..')", reward.GuestError, "Error"},
	{"write", "open('/reward/x', 'w')", reward.GuestError, "OSError"},
	{"remove", "os.remove(__file__)", reward.GuestError, "OSError"},
	{"environment", "assert set(os.environ.items()) - {('HOME', '/')} == {('PYTHONHASHSEED', '0')}, os.environ\n  return 1", reward.Scored, ""},
	{"socket", "import socket\n  socket.create_connection(('127.0.0.1', 80))", reward.GuestError, "Error"},
	{"subprocess", "import subprocess\n  subprocess.run(['id'])", reward.GuestError, "Error"},
	{"thread", "import threading\n  threading.Thread(target=print).start()", reward.GuestError, "Error"},
	{"sleep", "import time\n  time.sleep(1e6)\n  return 1", reward.Scored, ""},
	{"huge log", "for _ in range(100): print('x' * 10000)\n  return 1", reward.Scored, ""},
	{"endless log", "while True: print('x' * 10000)", reward.OutOfFuel, "fuel"},
	{"huge reason", "return {'score': 1, 'reason': 'x' * (2 << 20)}", reward.OutputLimit, "output_kib"},
	{"huge traceback", "raise ValueError('x' * (2 << 20))", reward.GuestError, "ValueError"},
	{"control bytes", "raise ValueError('\\x1b[31m\\u202e')", reward.GuestError, `\x1b[31m\u202e`},
	{"forged answer", "os.write(1, b'forged')\n  return 1", reward.Scored, ""},
	{"NaN", "return float('nan')", reward.ABIViolation, "finite"},
	{"infinity", "return 1e309", reward.ABIViolation, "finite"},
	{"nothing", "return None", reward.GuestError, "NoneType"},
	{"text", "return 'good'", reward.GuestError, "return a number, an EvaluateResult"},
	{"no score", "return {'reason': 'x', 'score': None}", reward.ABIViolation, "missing"},
	{"step that does not exist", "return {'score': 1, 'step_outputs': [{'step_index': 9, 'base_reward': 1}]}", reward.Unaligned, "step 9"},
	{"step twice", "return {'score': 1, 'step_outputs': [{'step_index': 0, 'base_reward': 1}] * 2}", reward.ABIViolation, "twice"},
	{"lone surrogate", "return {'score': 1, 'reason': '\\ud800'}", reward.ABIViolation, "UTF-8"},
	{"broken answer slot", "import merit_reward._sandbox as s\n  s.ANSWER.clear()\n  return 1", reward.GuestError, ""},

	// What a reward can do to the half of the sandbox that it runs beside.
	{"patches what scores", "import merit_reward.runner as r\n  r.plain = r.Reward.results = lambda *a: 7\n  return 0.25", reward.Scored, ""},
	{"patches what explains", "import merit_reward.runner as r\n  r.explain = lambda e: 7\n  return 'good'", reward.GuestError, "without a message"},
	{"patches what answers", "S.dumps = lambda *a: marshal.dumps((0, [0.25]), 2)\n  raise ValueError", reward.Scored, ""},
	{"replaces serve", "S._serve = S._whole = S._answer = None\n  gc.collect()\n  return 0.25", reward.Scored, ""},
	{"takes the buffer away", "S.BUFFER.clear()\n  S.BUFFER = None\n  return 0.25", reward.Scored, ""},
	{"takes the answer away", "S.ANSWER = None\n  return 0.25", reward.GuestError, "broke the interpreter"},
	{"answers elsewhere", "S.ANSWER = [b'']\n  return 0.25", reward.ABIViolation, ""},
	{"answers and exits", "S.ANSWER[0] = S.dumps((0, [1.0]), 2)\n  os._exit(0)", reward.ABIViolation, "exited"},
	{"answers and never ends", "S.ANSWER[0] = S.dumps((0, [1.0]), 2)\n  while True: pass", reward.OutOfFuel, ""},
	{"answers and breaks", "S.ANSWER[0] = S.dumps((0, [1.0]), 2)\n  S.ANSWER = S.dumps = None\n  return 1", reward.GuestError, ""},
	{"answers with no bytes", "S.dumps = lambda *a: 5\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"answers with text", "S.dumps = lambda *a: 'x' * 1000\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"answers for two", "S.dumps = lambda *a: marshal.dumps((0, [1.0, 1.0]), 2)\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"answers with a size that is not there", "S.dumps = lambda *a: b'(\\x02\\0\\0\\0i\\0\\0\\0\\0[\\xff\\xff\\xff\\x7f'\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"answers with a million values", "S.dumps = lambda *a: b'(\\x02\\0\\0\\0i\\0\\0\\0\\0[\\x40\\x42\\x0f\\0' + b'N' * 1000000\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"answers deeply", "S.dumps = lambda *a: b'(\\x01\\0\\0\\0' * 100000 + b'N'\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"answers with a reference", "S.dumps = lambda *a: b'\\xa8\\x02\\0\\0\\0r\\0\\0\\0\\0N'\n  raise ValueError", reward.ABIViolation, "cannot be read"},
	{"says that memory ran out", "raise MemoryError('not true')", reward.GuestError, "MemoryError"},
	{"closes all files", "for fd in range(9):\n    try: os.close(fd)\n    except OSError: pass\n  return 0.25", reward.Scored, ""},
	{"closes the log and prints", "os.close(2)\n  print('x')\n  return 0.25", reward.Scored, ""},
	{"removes the built-in functions", "builtins.__dict__.clear()\n  return 0.25", reward.GuestError, "broke the interpreter"},
	{"forgets all modules", "sys.modules.clear()\n  gc.collect()\n  return 0.25", reward.Scored, ""},
	{"raises while it is freed", "class D:\n    def __del__(self): raise ValueError('late')\n  D()\n  return 0.25", reward.Scored, ""},
	{"lives on", "class D:\n    def __del__(self): cases[self] = self\n  D()\n  gc.collect()\n  return 0.25", reward.Scored, ""},
	{"another class", "class X: __class__ = property(lambda self: float)\n  return X()", reward.GuestError, "unmarshallable"},
	{"an EvaluateResult that is none", "class X:\n    __class__ = property(lambda self: merit_reward.EvaluateResult)\n    def __init__(self): self.score = X\n  return X()", reward.GuestError, "return a number"},
	{"a dict that has everything", "class X(dict):\n    __contains__ = lambda self, k: True\n    __getitem__ = lambda self, k: X()\n  return X()", reward.GuestError, ""},
	{"equal to all", "class X(str):\n    __eq__ = lambda self, o: True\n    __hash__ = lambda self: 1 // 0\n  return {X('score'): 1, 'score': 0.25}", reward.GuestError, "ZeroDivisionError"},
	{"reason that is not text", "return {'score': 1, 'reason': object()}", reward.GuestError, "unmarshallable"},
	{"reason in a class of text", "class X(str): pass\n  return {'score': 0.25, 'reason': X('x')}", reward.Scored, ""},
	{"reason not UTF-8", "return {'score': 1, 'reason': b'\\xff'}", reward.ABIViolation, "UTF-8"},
	{"huge int", "return 10 ** 400", reward.ABIViolation, "finite"},
	{"int that takes for ever", "return 9 ** 9 ** 9", reward.OutOfFuel, ""},
	{"int as long text", "return int('9' * 5000)", reward.GuestError, "ValueError"},
	{"step beyond 32 bits", "return {'score': 1, 'step_outputs': [{'step_index': 1 << 32, 'base_reward': 1}]}", reward.ABIViolation, "out of range"},
	{"result in itself", "x = {'score': 1}\n  x['reason'] = x\n  return x", reward.GuestError, "nested"},
	{"result in itself twice over", "x = {'score': 1}\n  x['reason'] = x['score'] = x\n  return x", reward.GuestError, "the score is dict"},
	{"deep result", "x = 1\n  for i in range(5000): x = [x]\n  return {'score': 1, 'reason': x}", reward.GuestError, "nested"},
	{"more metrics than steps", "return {'score': 1, 'metrics': {str(i): 1 for i in range(1001)}}", reward.OutputLimit, "sandbox.steps"},
	{"no limit of recursion", "sys.setrecursionlimit(1 << 30)\n  f = lambda: f()\n  f()", reward.OutOfFuel, ""},
	{"no limit of recursion in C", "sys.setrecursionlimit(1 << 30)\n  x = []\n  for i in range(5000): x = [x]\n  repr(x)", reward.GuestError, "RecursionError"},
	{"no room for recursion", "sys.setrecursionlimit(20)\n  return 'x'", reward.GuestError, "returned str"},
	{"traces", "sys.settrace(lambda *a: 1 // 0)\n  return len('x')", reward.GuestError, "ZeroDivisionError"},
	{"garbage collected at every step", "gc.unfreeze()\n  gc.set_threshold(1)\n  return len([[] for i in range(1000)]) / 4000", reward.Scored, ""},
	// These break the interpreter in ways whose outcome depends on where its
	// objects happen to be.
	{"empties every module", "for m in [*sys.modules.values()]: m.__dict__.clear()\n  return 0.25", reward.GuestError, "the reward broke the interpreter"},
	{"bytecode out of bounds", "g = lambda x: None\n  def f(): return 1\n  f.__code__ = f.__code__.replace(co_code=bytes([dis.opmap['LOAD_FAST'], 0, dis.opmap['RETURN_VALUE'], 0]))\n  g(0.25)\n  return f()", reward.Scored, ""}, // what the frame before has left
	{"bytecode that is none", "def f(): return 1\n  f.__code__ = f.__code__.replace(co_code=bytes([230, 0, 83, 0]))\n  f()", reward.GuestError, "unknown opcode"},
	{"bytecode of a cache", "def f(): return 1\n  f.__code__ = f.__code__.replace(co_code=bytes(8))\n  f()", reward.Trap, ""},
	{"marshal of noise", "marshal.loads(b'\\xe3' + b'\\xff' * 100)", reward.GuestError, "marshal"},
	{"ctypes", "import ctypes\n  ctypes.CDLL(None).abort()", reward.GuestError, "UnavailableError: a reward has no native code"},
	{"a thousand threads", "import _thread\n  n = 0\n  for i in range(1000):\n    try: _thread.start_new_thread(print, ())\n    except RuntimeError: n += 1\n  return n / 4000", reward.Scored, ""},
	{"signal", "import signal\n  signal.raise_signal(signal.SIGKILL)", reward.Trap, ""},
	{"no output", "sys.stdout = sys.stderr = None\n  print('x')\n  return 0.25", reward.Scored, ""},
	{"error that cannot be shown", "class E(Exception): __str__ = __repr__ = lambda self: 1 // 0\n  raise E()", reward.GuestError, "E"},
	{"error that shows itself for ever", "class E(Exception):\n    def __str__(self):\n      while True: pass\n  raise E()", reward.OutOfFuel, ""},
	{"error in a circle", "e = ValueError('x')\n  e.__cause__ = e.__context__ = e\n  raise e", reward.GuestError, "ValueError"},
	{"error of many errors", "e = ValueError('x')\n  for i in range(200): e = ExceptionGroup('x', [e])\n  raise e", reward.GuestError, "ExceptionGroup"},
	{"error of too many errors", "e = ValueError('x')\n  for i in range(5000): e = ExceptionGroup('x', [e])\n  raise e", tooManyErrors(), ""},
	{"generator of a result", "return (x for x in [1])", reward.GuestError, "generator"},
	{"exit in the last moment", "sys.stdout.write = lambda t: os._exit(0)\n  print('x')\n  return 1", reward.ABIViolation, "exited"},
	{"reads the input again", "os.read(0, 100)\n  sys.stdin and sys.stdin.read()\n  return 0.25", reward.Scored, ""},
	{"answers as another trajectory", "rollout['id'] = 'fine'\n  rollout.id = 'fine'\n  return 0.25", reward.Scored, ""},
}

// tooManyErrors is the outcome of a traceback of 5,000 nested errors: Merit's own CPython can
// show it, and npm's runs out of fuel.
func tooManyErrors() reward.Outcome {
	if interpreter.Python().Package == "" {
		return reward.GuestError
	}
	return reward.OutOfFuel
}

// Promise: hostile Python ends in a typed outcome, with the same fuel every
// time, and neither its neighbours nor the next evaluation notice.
func TestHostilePython(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	text := "import builtins, dis, gc, marshal, os, re, sys\nimport merit_reward, merit_reward._sandbox as S\n" +
		"def reward(messages, rollout): return cases.get(rollout.id, lambda rollout: 0.5)(rollout)\ncases = {}\n"
	for _, c := range hostilePython {
		text += fmt.Sprintf("def case(rollout):\n  %s\ncases[%q] = case\n", c.body, c.name)
	}
	hostileScripts(t, "reward.py", text, hostilePython)
}

// hostileScripts runs every case between two evaluations that are not hostile,
// and all of it twice, here and in a worker process: all must be the same.
func hostileScripts(t *testing.T, name, text string, cases []hostileScript) {
	want := map[string][]reward.Evaluation{}
	for _, mode := range []int{0, 3} {
		r := newRuntime(t, suiteModes[mode].change, func(c *sandbox.Config) { c.Workers, c.Steps, c.CacheDir, c.Fuel = 1, 1000, cacheDir(t), hostileFuel })
		m, err := loadScript(t, r, name, text)
		require.NoError(t, err)
		before := resident("self")
		for _, c := range cases {
			t.Run(suiteModes[mode].name+"/"+c.name, func(t *testing.T) {
				members := []*rl.Trajectory{small(), small(), small()}
				members[0].ID, members[1].ID, members[2].ID = "fine", c.name, "fine"
				ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
				defer cancel()
				for range 2 {
					list := m.EvaluateGroup(ctx, members)
					for i := range list {
						list[i].Elapsed = 0
					}
					c.check(t, list)
					if want[c.name] == nil {
						want[c.name] = list
					}
					require.Equal(t, want[c.name], list)
				}
			})
		}
		require.Less(t, resident("self")-before, suiteMemory)
	}
}

// check holds a list of evaluations against the case, which is the second.
func (c hostileScript) check(t *testing.T, list []reward.Evaluation) {
	for _, i := range []int{0, 2} {
		require.Equal(t, reward.Scored, list[i].Outcome, list[i].Reason)
		require.Equal(t, 0.5, list[i].Result.Score)
	}
	e := list[1]
	require.Equal(t, c.want, e.Outcome, "%.2000s", e.Reason)
	require.Equal(t, c.want == reward.Scored, e.Result.IsScoreValid)
	require.Contains(t, e.Reason, c.reason)
	require.Less(t, len(e.Reason), 20_000)
	require.NotContains(t, e.Reason, "\x1b")
}

// Promise: what a script writes to its standard output while it is loaded goes to the log, and
// is not taken for what Merit's own code says of it.
func TestOutputWhileLoading(t *testing.T) {
	m, err := loadScript(t, oneWorker(t), "a.py", "import marshal, os\nos.write(1, b'\\xff' * 1000 + marshal.dumps(('no', 1), 2))\ndef reward(messages): return 1\n")
	require.NoError(t, err)
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
}

// Promise: a script that does harm while it is loaded, or describes itself
// wrongly, is rejected in time.
func TestHostileScriptsAreRefused(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	r := newRuntime(t, func(c *sandbox.Config) {
		c.Workers, c.Fuel, c.StartFuel, c.CacheDir = 1, 50_000_000, 1_000_000_000, cacheDir(t)
	})
	says := func(hello string) string {
		return "import marshal, sys\nhello, own = " + hello + ", sys.modules['merit_reward._sandbox']\n" +
			"own._settle_memory = lambda: own.ANSWER.__setitem__(0, hello)\ndef reward(messages): return 1\n"
	}
	forged := func(addresses string) string {
		return says("marshal.dumps(('', [" + addresses + "] * 8, False, False, False, ['messages'], {}, {}, {}, []), 2)")
	}
	for name, c := range map[string]struct{ file, text string }{
		"endless":            {"a.py", "while True: pass\n"},
		"exit":               {"a.py", "import os\nos._exit(0)\n"},
		"exit with a status": {"a.py", "import sys\nsys.exit(7)\n"},
		"memory":             {"a.py", "x = bytearray(1 << 30)\n"},
		"recursion":          {"a.py", "f = lambda: f()\nf()\n"},
		"noise for hello":    {"a.py", says("b'\\xff' * 1000")},
		"no hello":           {"a.py", says("b''")},
		"hello of no kind":   {"a.py", says("marshal.dumps((1, 2, 3), 2)")},
		"hello of nothing":   {"a.py", forged("0")},
		"hello of the end":   {"a.py", forged("-1")},
		"hello of noise":     {"a.py", forged("(5 << 20) + 7")},
		"hello of an object": {"a.py", forged("id(marshal)")},
		"long manifest":      {"a.py", "__merit__ = {'name': 'x' * (1 << 24)}\ndef reward(messages): return 1\n"},
		"endless script":     {"a.js", "for (;;);"},
		"endless jobs":       {"a.js", "const job = () => Promise.resolve().then(job); job(); export default () => 1;"},
		"waits":              {"a.js", "await new Promise(() => {}); export default () => 1;"},
		"throws":             {"a.js", "throw { toString() { throw 1 } };"},
		"import of itself":   {"a.js", "import x from './a.js'; export default x;"},
		"no sandbox":         {"a.js", "Object.defineProperty(globalThis, '__merit', { value: {} }); export default () => 1;"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
			defer cancel()
			_, err := loadScript(t, r, c.file, c.text)
			require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
			require.NoError(t, ctx.Err())
			require.Less(t, len(err.Error()), 20_000)
		})
	}
}
