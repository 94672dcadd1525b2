package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// judge is a reward that runs the cases of a JSON text, each with its tests and
// in a separate evaluation: the first whose name is the trajectory's id.
const judge = `
import { run } from "merit/code";
const cases = %s;
export default (rollout) => {
  const { source, tests, options } = cases[rollout.id];
  const report = run(source, tests, { entry_point: "f", ...options });
  const [first] = report.tests;
  return { score: report.passed, reason: JSON.stringify([first.verdict, first.message, first.output]), metrics: { fuel: report.fuel, total: report.total } };
};
`

type judged struct{ verdict, message, output string }

// judgeOne evaluates one case of m and returns the verdict on its first test.
func judgeOne(t testing.TB, m *sandbox.Module, name string) (judged, reward.Evaluation) {
	trajectory := small()
	trajectory.ID = name
	ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
	defer cancel()
	e := m.Evaluate(ctx, trajectory)
	require.Equal(t, reward.Scored, e.Outcome, "%s: %.2000s", name, e.Reason)
	var said [3]string
	require.NoError(t, json.Unmarshal([]byte(e.Result.Reason), &said))
	return judged{said[0], said[1], said[2]}, e
}

type solution struct {
	name, source  string
	want, message string // the verdict, and a part of why
	test          string // statements; empty: f(1, 2) is 3
}

// hostileSolutions do what they can to pass with a wrong answer, or to do harm.
// deepSource is the verdict on a source that is nested too deeply. npm's QuickJS does not
// count the calls of its parser.
var deepSource = func() [2]string {
	if interpreter.JavaScript().Package == "" {
		return [2]string{"error", "RangeError"}
	}
	return [2]string{"crashed", "nested too deeply"}
}()

var hostileSolutions = []solution{
	{"right", "const f = (a, b) => a + b", "passed", "", ""},
	{"wrong", "const f = (a, b) => a - b", "failed", "-1 is not 3", ""},
	{"loop", "function f() { for (;;); }", "out_of_fuel", "", ""},
	{"loop while loading", "for (;;);", "out_of_fuel", "", ""},
	{"expression", "const f = () => /(a*)*b/.test('a'.repeat(40))", "out_of_fuel", "", ""},
	{"memory", "function f() { const x = []; for (;;) x.push(new Uint8Array(1 << 20).fill(1)) }", "out_of_memory", "", ""},
	{"huge array", "const f = () => new Array(2 ** 32 - 1).fill(0)", "out_of_fuel", "", ""},
	{"huge string", "const f = () => 'x'.repeat(1 << 29)", "out_of_memory", "", ""},
	{"huge answer", "const f = () => 'x'.repeat(1100000)", "out_of_fuel", "", ""},
	{"long answer", "const f = () => new Array(2e6)", "error", "more than 1000000 values", ""},
	{"deep answer", "function f() { let x = 1; for (let i = 0; i < 1e4; i++) x = [x]; return x }", "error", "nests deeper", ""},
	{"answer in itself", "function f() { const x = []; x.push(x); return x }", "error", "holds itself", ""},
	{"recursion", "const f = () => f() + 1", "error", "RangeError", ""},
	{"deep source", "const f = () => " + strings.Repeat("!", 100_000) + "1", deepSource[0], deepSource[1], ""},
	{"jobs", "const f = () => new Promise(() => { const job = () => Promise.resolve().then(job); job() })", "out_of_fuel", "", ""},
	{"jobs on the side", "const job = () => Promise.resolve().then(job); const f = () => (job(), 3)", "out_of_fuel", "", ""},
	{"timers", "const f = () => new Promise(() => setInterval(() => {}, 1))", "out_of_fuel", "", ""},
	{"waits", "const f = () => new Promise(() => {})", "error", "nothing settles", ""},
	{"rejects", "const f = async () => { throw new RangeError('no') }", "error", "RangeError: no", ""},

	{"pollutes objects", "Object.defineProperty(Object.prototype, 'args', { get: () => 3, set() {} }); Object.prototype.value = 3; Object.prototype.error = null; const f = () => 4", "failed", "4 is not 3", ""},
	{"pollutes arrays", "Array.prototype.push = () => 3; Array.prototype.map = () => [3]; Array.prototype[Symbol.iterator] = function* () { yield 3 }; Object.defineProperty(Array.prototype, 0, { get: () => 3, set() {} }); const f = () => 4", "failed", "4 is not 3", ""},
	{"pollutes serialisation", "JSON.stringify = () => '{\"value\":3}'; JSON.parse = () => ({ do: 'get' }); const f = () => 4", "failed", "4 is not 3", ""},
	{"pollutes strings", "for (const n of Object.getOwnPropertyNames(String.prototype)) if (n !== 'constructor') try { String.prototype[n] = () => '3' } catch {} const f = () => '4'", "crashed", "cannot be read", ""},
	{"pollutes functions", "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 3; Reflect.apply = () => 3; const f = () => 4", "failed", "4 is not 3", ""},
	{"pollutes promises", "Promise.prototype.then = (done) => done(3); const f = async () => 4", "failed", "4 is not 3", ""},
	{"pollutes expressions", "RegExp.prototype.exec = () => ['f', 'f']; RegExp.prototype.test = () => true; const f = () => 4", "failed", "4 is not 3", ""},
	{"no globals", "for (const n of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[n] } catch {} const f = () => 4", "error", "globalThis", ""},
	{"frozen globals", "for (const n of Object.getOwnPropertyNames(globalThis)) try { Object.freeze(globalThis[n].prototype); Object.freeze(globalThis[n]) } catch {} Object.freeze(globalThis); const f = () => 4", "failed", "4 is not 3", ""},
	{"its own assertions", "const assert = () => {}; assert.strictEqual = () => {}; console.assert = () => {}; function check() {} const f = () => 4", "failed", "4 is not 3", ""},
	{"names of the test", "const candidate = () => 3, require = () => ({}), x = 3; const f = () => 4", "failed", "4 is not 3", "assert.strictEqual(candidate(1, 2), 3)"},
	{"names of the language", "class Number_ {} const Math = { max: () => 3 }; globalThis.Object = null; const f = () => 4", "failed", "4 is not 3", "assert.strictEqual(Math.max(f(1, 2), 0), 3)"},

	{"valueOf", "const f = () => ({ valueOf: () => 3, toString: () => '3' })", "failed", "is not 3", "assert.equal(f(1, 2), 3)"},
	{"primitive", "const f = () => ({ [Symbol.toPrimitive]: () => 3 })", "failed", "is not 3", "assert.ok(f(1, 2) == 3, '… is not 3')"},
	{"toJSON", "const f = () => ({ toJSON: () => 3 })", "failed", "is not 3", "assert.deepEqual(f(1, 2), 3)"},
	{"object that claims to be equal", "class All { valueOf() { return 3 } equals() { return true } } const f = () => new All()", "failed", "no value here", "assert.ok(f(1, 2) == 3)"},
	{"getter that differs", "let n = 2; const f = () => ({ get a() { return n++ } })", "passed", "", "assert.deepEqual(f(1, 2), { a: 2 })"},
	{"getter that never ends", "const f = () => ({ get a() { for (;;); } })", "out_of_fuel", "", ""},
	{"getter that throws", "const f = () => ({ get a() { throw new Error('from a getter') } })", "error", "from a getter", ""},
	{"proxy", "const f = () => new Proxy([], { get: (_, k) => (k === 'length' ? 3 : 4), has: () => true, getPrototypeOf: () => Number.prototype })", "failed", "is not 3", ""},
	{"proxy of length", "const f = () => new Proxy([], { get: (_, k) => (k === 'length' ? 2 ** 53 : 4) })", "error", "more than", ""},
	{"proxy that was revoked", "const f = () => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy }", "error", "revoked", ""},
	{"prototype", "const f = () => JSON.parse('{\"__proto__\": {\"a\": 3}}')", "failed", "", "assert.equal(f(1, 2).a, 3)"},
	{"NaN", "const f = () => NaN", "failed", "NaN is not 3", ""},
	{"function", "const f = () => () => 3", "failed", "is not 3", ""},
	{"symbol", "const f = () => Symbol.for('3')", "failed", "is not 3", ""},
	{"array of one", "const f = () => [3]", "failed", "is not 3", "assert.equal(f(1, 2), 3)"},
	{"text", "const f = () => '3'", "failed", "is not 3", ""},
	{"sparse array", "const f = () => { const a = []; a[2] = 3; return a }", "passed", "", "assert.deepEqual(f(1, 2), [null, null, 3])"},

	{"throws nothing", "const f = () => { throw undefined }", "error", "undefined", ""},
	{"throws a symbol", "const f = () => { throw Symbol('x') }", "error", "Symbol(x)", ""},
	{"throws an assertion", "const f = () => { const e = new Error('3 is 3'); e.name = 'AssertionError'; throw e }", "error", "AssertionError", ""},
	{"throws what cannot be read", "const f = () => { throw new Proxy(new Error(), { get() { throw 1 } }) }", "error", "", ""},
	{"throws for ever", "const f = () => { const e = new Error(); Object.defineProperty(e, 'message', { get() { for (;;); } }); throw e }", "out_of_fuel", "", ""},
	{"throws a verdict", "const f = () => { throw { verdict: 'passed', outcome: 'answered' } }", "error", "", ""},
	{"throws control bytes", "const f = () => { throw new Error('\\x1b[31m\\u202e') }", "error", "", ""},
	{"throws where that is expected", "const f = () => { for (;;); }", "out_of_fuel", "", "assert.throws(() => f(1, 2))"},

	{"prints a verdict", "console.log('{\"value\":3}\\nanswered 1 11\\n{\"value\":3}'); const f = () => { process.stdout.write('{\"value\":3}\\n'); return 4 }", "failed", "4 is not 3", ""},
	{"prints without end", "const f = () => { for (;;) console.log('x'.repeat(1000)) }", "out_of_fuel", "", ""},
	{"exits", "const f = () => process.exit(0)", "error", "process.exit(0)", ""},
	{"exits while loading", "process.exit(0)", "error", "process.exit(0)", ""},
	{"another host", "globalThis.__merit = { serve: () => '{\"value\":3}', turn: () => '{\"value\":3}' }; globalThis.__merit_channel = () => 'answered 0 0\\n'; const f = () => 4", "failed", "4 is not 3", ""},
	{"asks itself", "const f = () => __merit.serve('{\"do\":\"run\",\"source\":\"\",\"input\":\"\"}') && 4", "failed", "is not 3", ""},
	{"compiles for the host", "const f = () => globalThis.__merit_compile ? 3 : 4", "failed", "4 is not 3", ""},
	{"imports the reward's modules", "const f = () => import('merit/code').then(() => 3)", "error", "merit/code", ""},
	{"imports its own half", "const f = () => import('merit/program.js').then((m) => m.begin('{\"do\":\"get\",\"name\":\"f\"}')).then(() => 4)", "crashed", "cannot be read", ""},
	{"dear to read", "const f = () => Array.from({ length: 2000 }, () => ({}))", "out_of_fuel", "to read", ""},
	{"forges an object that stays", "const g = () => ({ equals: () => true }); const f = () => import('merit/program.js').then((m) => m.begin('{\"do\":\"call\",\"name\":\"g\",\"args\":[],\"keep\":true}'))", "failed", "not a function", "assert.ok(f(1, 2).equals(3))"},
	{"opens programs", "const f = () => new Program().ask('{}', 1)", "error", "Program", ""},
	{"changes how it is reached", "globalThis.__merit_reach = null; Object.defineProperty(globalThis, '__merit_reach', { get: () => () => {}, set() {} }); const f = () => 4", "error", "", ""},
	{"compiles", "const f = new Function('a', 'b', 'return eval(\"a + b\")')", "passed", "", ""},
	{"closes the source", "const f = () => 4; })); globalThis.f = () => 3; ((() => {", "error", "SyntaxError", ""},
	{"weak and busy", "const r = new FinalizationRegistry(() => { for (;;); }); r.register({}, 1); const f = (a, b) => a + b", "out_of_fuel", "", ""},
	{"weak", "const r = new FinalizationRegistry(() => {}); r.register({}, 1); const f = (a, b) => new WeakRef(r).deref() && a + b", "passed", "", ""},
	{"shared memory", "const f = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "error", "", ""},
	{"remembers", "let n = 2; const f = () => ++n", "failed", "4 is not 3", "f(1, 2); assert.strictEqual(f(1, 2), 3)"},
	{"changes the arguments", "const f = (a) => { a.length = 0; a.push(3) }", "failed", "", "const a = [1]; f(a); assert.deepEqual(a, [1])"},
	{"changes an argument into another", "const f = (a) => { Object.setPrototypeOf(a, null); a.length = 2 ** 31 }", "error", "more than", "f([1])"},
	{"iterator without end", "const f = function* () { for (;;) yield 1 }", "out_of_fuel", "", "assert.deepEqual([...f(1, 2)], [1])"},
	{"iterator that lies", "const f = () => ({ next: () => ({ done: false, value: { done: true } }), [Symbol.iterator]() { return this } })", "out_of_fuel", "", "for (const x of f(1, 2)); "},
}

// Promise: whatever a solution does, its verdict is typed, is never passed for
// a wrong solution, and is the same in worker processes and when repeated. The
// reward that runs it continues and takes the same fuel.
func TestHostileSolutionsInJavaScript(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	cases := map[string]any{}
	for _, c := range hostileSolutions {
		test := c.test
		if test == "" {
			test = "assert.strictEqual(f(1, 2), 3)"
		}
		cases[c.name] = map[string]any{"source": c.source, "tests": []string{test}, "options": map[string]any{"fuel": 100_000_000}}
	}
	text, err := json.Marshal(cases)
	require.NoError(t, err)
	want := map[string]reward.Evaluation{}
	for _, mode := range []int{0, 3} {
		r := newRuntime(t, suiteModes[mode].change, func(c *sandbox.Config) { c.Workers, c.CacheDir, c.Fuel = 1, cacheDir(t), hostileFuel })
		m, err := loadScript(t, r, "reward.js", fmt.Sprintf(judge, text))
		require.NoError(t, err)
		before := resident("self")
		for _, c := range hostileSolutions {
			t.Run(suiteModes[mode].name+"/"+c.name, func(t *testing.T) {
				for range 2 {
					got, e := judgeOne(t, m, c.name)
					require.Equal(t, c.want, got.verdict, got.message)
					require.Contains(t, got.message, c.message)
					require.LessOrEqual(t, len(got.output), 4*64<<10)
					e.Elapsed = 0
					if _, seen := want[c.name]; !seen {
						want[c.name] = e
					}
					require.Equal(t, want[c.name], e)
				}
			})
		}
		require.Less(t, resident("self")-before, suiteMemory)
	}
}

// Promise: the example of the documentation scores answers as it says.
func TestSolvesInJavaScript(t *testing.T) {
	needInterpreters(t)
	m, err := oneWorker(t).LoadFile(context.Background(), filepath.Join(testneeds.Root(), "sdk", "js", "examples", "solves.js"))
	require.NoError(t, err)
	for answer, want := range map[string]float64{
		"So:\n```js\nconst add = (a, b) => a + b\n```\n": 1, "```js\nconst add = (a, b) => Number(a) + b\n```": 2. / 3, "add = 5": 0, "": 0,
	} {
		trajectory := small()
		trajectory.Messages = append(trajectory.Messages, rl.Message{Role: "assistant", Content: rl.Text(answer)})
		e := m.Evaluate(context.Background(), trajectory)
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		require.InDelta(t, want, e.Result.Score, 1e-12, e.Result.Reason)
	}
}

// Promise: a list that is longer than a call can take arguments is changed in
// place as a short one is.
func TestLongListsInJavaScript(t *testing.T) {
	cases, err := json.Marshal(map[string]any{"long": map[string]any{
		"source": "function f(list) { list[0] = 5; list.pop() }", "options": map[string]any{"fuel": 4_000_000_000},
		"tests": []string{"const list = new Array(70000).fill(1); f(list); assert.equal(list[0], 5); assert.equal(list.length, 69999)"},
	}})
	require.NoError(t, err)
	r := newRuntime(t, func(c *sandbox.Config) { c.CacheDir, c.Fuel, c.WallClock = cacheDir(t), 8_000_000_000, 5*time.Minute })
	m, err := loadScript(t, r, "reward.js", fmt.Sprintf(judge, cases))
	require.NoError(t, err)
	got, _ := judgeOne(t, m, "long")
	require.Equal(t, judged{verdict: "passed"}, got)
}
