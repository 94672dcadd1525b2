package sandbox_test

import (
	"fmt"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// hostilePrograms are what programs do to the reward that opened them, and what
// rewards do with the channel. Assertions hold what the reward is told.
var hostilePrograms = []hostileScript{
	{"endless", "expect(run('while True: pass'), 'out_of_fuel', fuel=FUEL)\n  return 0.25", reward.Scored, ""},
	{"endless that catches everything", "expect(run('while True:\\n  try:\\n    while True: pass\\n  except BaseException: pass'), 'out_of_fuel', fuel=FUEL)\n  return 0.25", reward.Scored, ""},
	{"endless with all the fuel", "run('while True: pass', fuel=1 << 80)", reward.OutOfFuel, "sandbox.fuel"},
	{"endless again and again", "while True: run('while True: pass')", reward.OutOfFuel, "sandbox.fuel"},
	{"no fuel", "expect(run('', fuel=0), 'out_of_fuel', fuel=0)\n  expect(run('', fuel=-1), 'out_of_fuel', fuel=0)\n  return 0.25", reward.Scored, ""},
	{"memory", "a = run('x = []\\nwhile True: x.append(bytearray(1 << 20))', fuel=400_000_000)\n  assert 'MemoryError' in a.text or a.outcome == 'out_of_memory', a\n  return 0.25", reward.Scored, ""},
	{"memory that breaks what answers", "expect(run('import merit_reward._program as P\\nP.answer = lambda r: bytearray(1 << 30)', ''), 'out_of_memory', 'memory_mib')\n  return 0.25", reward.Scored, ""},
	{"memory that was never refused", "expect(run('import merit_reward._program as P\\ndef answer(r): raise MemoryError\\nP.answer = answer', ''), 'crashed', 'MemoryError')\n  return 0.25", reward.Scored, ""},
	{"os._exit", "expect(run('import os\\nos._exit(0)'), 'crashed', 'exited with status 0')\n  expect(run('import os\\nos._exit(7)'), 'crashed', 'exited with status 7')\n  return 0.25", reward.Scored, ""},
	{"abort", "expect(run('import os\\nos.abort()'), 'crashed')\n  return 0.25", reward.Scored, ""},
	{"sys.exit", "expect(run('import sys\\nsys.exit(3)'), 'answered')\n  return 0.25", reward.Scored, ""},
	{"recursion", "expect(run('f = lambda: f()\\nf()', fuel=400_000_000), 'answered', 'RecursionError')\n  return 0.25", reward.Scored, ""},
	{"recursion without a limit", "a = run('import sys\\nsys.setrecursionlimit(1 << 30)\\nf = lambda: f()\\nf()')\n  assert a.outcome != 'answered', a\n  return 0.25", reward.Scored, ""},
	{"floods the log", "expect(run('import posix as os\\nfor i in range(200): os.write(1, b\"x\" * 10000), os.write(2, b\"x\" * 10000)'), 'answered')\n  return 0.25", reward.Scored, ""},
	{"forges a verdict", "expect(run('import os\\nos.write(1, b\"answered 0 2\\\\n{}\")\\nprint(\"PASSED\")'), 'answered', 'PASSED')\n  return 0.25", reward.Scored, ""},
	{"takes the answer away", "expect(run('import merit_reward._sandbox as S\\nS.ANSWER = None'), 'crashed', 'broke the interpreter')\n  return 0.25", reward.Scored, ""},
	{"answers with a kind that is none", "expect(run('import merit_reward._sandbox as S\\nS.RESULTS = 9', ''), 'crashed', 'cannot be read')\n  return 0.25", reward.Scored, ""},
	{"answers with no text", "expect(run('import merit_reward._program as P\\nP.answer = lambda r: 5', ''), 'crashed', 'broke the interpreter')\n  return 0.25", reward.Scored, ""},
	{"answers with too much", "expect(run('import merit_reward._program as P\\nP.answer = lambda r: \"x\" * (2 << 20)', ''), 'crashed', 'output_kib')\n  return 0.25", reward.Scored, ""},
	{"answers with lone surrogates", "expect(run('import merit_reward._program as P\\nP.answer = lambda r: \"\\\\ud800<\"', ''), 'answered', '?<')\n  return 0.25", reward.Scored, ""},
	{"clears the built-in functions", "a = run('import builtins\\nbuiltins.__dict__.clear()')\n  assert a.outcome in ('answered', 'crashed'), a\n  return 0.25", reward.Scored, ""},
	{"opens a program", "expect(run('from merit_reward._programs import Program\\nProgram()'), 'answered', 'only a reward opens programs')\n  return 0.25", reward.Scored, ""},
	{"writes to the host", "expect(run('import os\\nos.write(0, b\"open python\\\\n\")'), 'answered', 'OSError')\n  return 0.25", reward.Scored, ""},
	{"reads its input", "expect(run('import os\\nprint(os.read(0, 100))'), 'answered')\n  return 0.25", reward.Scored, ""},
	{"is asked when it is gone", "p = Program()\n  ask(p, 'import os\\nos._exit(1)')\n  try: ask(p, '')\n  except ValueError as e: assert 'exited with status 1' in str(e), e\n  else: assert False\n  p.close()\n  return 0.25", reward.Scored, ""},
	{"a mark outlives whatever stops the program", "p = Program()\n  ask(p, 'import sys, builtins\\nbuiltins.n = 1')\n  p.mark()\n  for source, outcome in ENDS:\n    a = ask(p, source)\n    assert a.outcome == outcome, a\n    p.rewind()\n    a = ask(p, 'print(n)')\n    assert '\"1\\\\n\"' in a.text, a\n  return 0.25", reward.Scored, ""},
	{"what is stopped answers nothing until it is rewound", "p = Program()\n  p.mark()\n  ask(p, 'import os\\nos._exit(1)')\n  for m in (b'ask 1 100\\n{}', b'mark 1\\n'): assert b'was stopped' in raw(m), m\n  p.rewind()\n  expect(ask(p, 'print(7)'), 'answered', '7')\n  return 0.25", reward.Scored, ""},
	{"a rewound program with no mark", "p = Program()\n  assert b'has no mark' in raw(b'rewind 1\\n')\n  try: p.rewind()\n  except ValueError as e: assert 'no mark' in str(e)\n  else: assert False\n  return 0.25", reward.Scored, ""},
	{"marks for ever", "p = Program()\n  while True: p.mark()", reward.OutOfFuel, "sandbox.fuel"},
	{"rewinds for ever", "p = Program()\n  p.mark()\n  while True: p.rewind()", reward.OutOfFuel, "sandbox.fuel"},
	{"leaves four marked", "ps = [Program() for i in range(4)]\n  for p in ps: ask(p, 'import builtins\\nbuiltins.x = bytearray(8 << 20)'), p.mark(), ask(p, 'while True: pass')\n  return 0.25", reward.Scored, ""},
	{"rewound in JavaScript", "p = Program('javascript')\n  ask(p, 'globalThis.n = 1')\n  p.mark()\n  for i in range(3):\n    expect(ask(p, 'for (;;);'), 'out_of_fuel')\n    p.rewind()\n    expect(ask(p, 'console.log(n++)'), 'answered', '1')\n  return 0.25", reward.Scored, ""},
	{"endless in JavaScript", "expect(run('for (;;);', language='javascript'), 'out_of_fuel', fuel=FUEL)\n  return 0.25", reward.Scored, ""},
	{"memory in JavaScript", "a = run('const x = []; for (;;) x.push(new Uint8Array(1 << 20));', fuel=400_000_000, language='javascript')\n  assert 'memory' in a.text, a\n  return 0.25", reward.Scored, ""},

	// What a reward does.
	{"opens five", "ps = [Program() for i in range(5)]", reward.GuestError, "4 programs are open"},
	{"opens for ever", "while True: Program().close()", reward.OutOfFuel, "sandbox.fuel"},
	{"asks for ever", "p = Program()\n  while True: ask(p, '')", reward.OutOfFuel, "sandbox.fuel"},
	{"leaves four open", "ps = [Program() for i in range(4)]\n  ask(ps[2], 'x = 1')\n  return 0.25", reward.Scored, ""},
	{"leaves four open and aborts", "ps = [Program() for i in range(4)]\n  ask(ps[2], 'x = 1')\n  os.abort()", reward.Trap, ""},
	{"leaves four open and exits", "ps = [Program() for i in range(4)]\n  ask(ps[2], 'x = 1')\n  os._exit(0)", reward.ABIViolation, "exited"},
	{"leaves four open and never ends", "ps = [Program() for i in range(4)]\n  ask(ps[2], 'x = 1')\n  while True: pass", reward.OutOfFuel, ""},
	{"a language that is none", "Program('fortran')", reward.GuestError, "javascript or python"},
	{"a language that is not a name", "Program('python\\nclose 1')", reward.GuestError, "names no language"},
	{"a program that is not open", "assert raw(b'ask 7 100\\n{}') == b'refused 0 21\\nprogram 7 is not open'\n  assert b'not open' in raw(b'close 1\\n')\n  return 0.25", reward.Scored, ""},
	{"a program of another's number", "p = Program()\n  p.close()\n  q = Program()\n  assert b'program 1 is not open' in raw(b'ask 1 100\\n{}')\n  return 0.25", reward.Scored, ""},
	{"noise", "for m in NOISE: assert raw(m).startswith(b'refused 0 '), m\n  return 0.25", reward.Scored, ""},
	{"text that is not UTF-8", "p = Program()\n  assert b'UTF-8' in raw(b'ask 1 100\\n\\xff')\n  return 0.25", reward.Scored, ""},
	{"more than an input", "p = Program()\n  assert b'input_mib' in raw(b'ask 1 100\\n' + b'x' * (9 << 20))\n  return 0.25", reward.Scored, ""},
	{"large requests", "a = run('#' + 'x' * (1 << 19) + '\\nprint(6 * 7)', fuel=300_000_000)\n  expect(a, 'answered', '42')\n  return 0.25", reward.Scored, ""},
	{"answers that nobody reads", "for i in range(1000): os.write(0, b'close 1\\n')\n  assert len(os.read(0, 10000)) == 34\n  assert os.read(0, 10000) == b''\n  return 0.25", reward.Scored, ""},
	{"an answer in pieces", "os.write(0, b'close 1\\n')\n  assert b''.join(os.read(0, 1) for i in range(50)) == b'refused 0 21\\nprogram 1 is not open'\n  return 0.25", reward.Scored, ""},
}

// Promise: whatever a program does is an answer to its reward, whatever a reward
// does with programs ends in a typed outcome, with the same fuel every time, and
// neither its neighbours nor the next evaluation notice.
func TestHostilePrograms(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	text := `
import json, os
from merit_reward._programs import Program
FUEL = 40_000_000
ENDS = [('while True: pass', 'out_of_fuel'), ('import os\nos._exit(3)', 'crashed'), ('x = [bytearray(1 << 20) for i in range(5)]', 'answered'), ('import builtins\nbuiltins.n = 9\nbuiltins.__dict__.pop("print")', 'answered'),
        ('import merit_reward._program as P\nP.answer = None', 'answered')]
NOISE = [b'', b'\n', b' \n', b'open', b'open\n', b'open python', b'open python\nx', b'open python x\n', b'OPEN python\n', b'open \xff\n', b'open \0\n',
         b'ask\n', b'ask 1\n', b'ask 1 x\n', b'ask -1 1\n', b'ask 4294967297 1\n', b'ask 1 18446744073709551616\n', b'ask 1 1 1\n', b'ask  1\n',
         b'close\n', b'close x\n', b'close 1\nx', b'close 01x\n', b'x' * 100, b'x' * 100 + b'\n', b'\xff' * 1000, b'ask 1 100' + b' ' * (9 << 20)]
def ask(p, source, fuel=FUEL): return p.ask(json.dumps({"do": "run", "source": source, "input": ""}), fuel)
def run(source, *more, language="python", fuel=FUEL):
  with Program(language) as p:
    for s in (source, *more): a = ask(p, s, fuel)
  return a
def expect(a, outcome, text='', fuel=None): assert a.outcome == outcome and text in a.text and fuel in (None, a.fuel), a
def raw(message):
  os.write(0, message)
  return os.read(0, 1 << 16)
def reward(messages, rollout): return cases.get(rollout.id, lambda rollout: 0.5)(rollout)
cases = {}
`
	for _, c := range hostilePrograms {
		text += fmt.Sprintf("def case(rollout):\n  %s\ncases[%q] = case\n", c.body, c.name)
	}
	hostileScripts(t, "reward.py", text, hostilePrograms)
}
