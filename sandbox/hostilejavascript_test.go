package sandbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

var hostileJavaScript = []hostileScript{
	{"infinite loop", "for (;;);", reward.OutOfFuel, ""},
	{"catastrophic expression", "/(a*)*b/.test('a'.repeat(40))", reward.OutOfFuel, ""},
	{"memory bomb", "const x = []; for (;;) x.push(new Uint8Array(1 << 20).fill(1))", reward.OutOfMemory, "memory"},
	{"recursion", "const f = () => f() + 1; f()", reward.GuestError, "stack"},
	{"throw a value", "throw { a: 1 }", reward.GuestError, `{"a":1}`},
	{"network", "fetch('http://127.0.0.1')", reward.GuestError, "fetch"},
	{"process", "process.exit(0)", reward.GuestError, "process"},
	{"import", "return import('fs')", reward.GuestError, "could not load module 'fs'"},
	{"NaN", "return NaN", reward.ABIViolation, "score"},
	{"infinity", "return 1 / 0", reward.ABIViolation, "score"},
	{"nothing", "", reward.GuestError, "undefined"},
	{"promise", "return new Promise(() => {})", reward.GuestError, "nothing settles"},
	{"huge reason", "return { score: 1, reason: 'x'.repeat(2 << 20) }", reward.OutputLimit, "output_kib"},
	{"huge log", "for (let i = 0; i < 10; i++) console.log('x'.repeat(10000)); return 1", reward.Scored, ""},
	{"control bytes", `throw new Error('\x1b[31m\u202e')`, reward.GuestError, `\x1b[31m\u202e`},
	{"step twice", "return { score: 1, step_outputs: [{ step_index: 0, base_reward: 1 }, { step_index: 0, base_reward: 1 }] }", reward.ABIViolation, "twice"},
	{"clock and chance", "return Date.now() + Math.random()", reward.Scored, ""},

	// What a reward can do to the half of the sandbox that it runs beside.
	{"pollutes all objects", "Object.prototype.score = 1; Object.prototype.is_score_valid = true; return {}", reward.ABIViolation, "score"},
	{"pollutes serialisation", "Object.prototype.toJSON = () => 1; return { score: 0.25, reason: 'r' }", reward.ABIViolation, "EvaluateResult"},
	{"pollutes arrays", "Array.prototype.map = () => [{ score: 1 }, { score: 1 }]; return { score: 0.25, reason: 'r' }", reward.GuestError, "2 results"},
	{"answers for two", "JSON.stringify = () => '{\"results\":[{\"score\":1},{\"score\":1}]}'; return { score: 0.25, reason: 'r' }", reward.ABIViolation, "2 results"},
	{"answers twice", "JSON.stringify = () => '{\"results\":[{\"score\":1}],\"results\":[{\"score\":1},{\"score\":1}]}'; return { score: 0.25, reason: 'r' }", reward.ABIViolation, "results is given twice"},
	{"answers with a number", "JSON.stringify = () => 5; return { score: 0.25, reason: 'r' }", reward.ABIViolation, "EvaluateResult"},
	{"answers with a symbol", "JSON.stringify = () => Symbol('x'); return { score: 0.25, reason: 'r' }", reward.ABIViolation, ""},
	{"answers with nothing", "JSON.stringify = () => undefined; return { score: 0.25, reason: 'r' }", reward.ABIViolation, "EvaluateResult"},
	{"answers with an error", "JSON.stringify = () => { throw new Error('mine') }; return { score: 0.25, reason: 'r' }", reward.GuestError, "mine"},
	{"answers for ever", "JSON.stringify = () => ({ toString() { for (;;); } }); return { score: 0.25, reason: 'r' }", reward.OutOfFuel, ""},
	{"answers with too much", "JSON.stringify = () => 'x'.repeat(4 << 20); return { score: 0.25, reason: 'r' }", reward.OutputLimit, "output_kib"},
	{"no JSON", "delete globalThis.JSON; return { score: 0.25, reason: 'r' }", reward.GuestError, "JSON"},
	{"no serve", "delete __merit.serve; globalThis.__merit = null; return 0.25", reward.Scored, ""},
	{"getter that throws", "return { get score() { throw new Error('from a getter') } }", reward.GuestError, "from a getter"},
	{"getter that differs", "let n = 0; return { get score() { return n++ } }", reward.Scored, ""},
	{"getter that never ends", "return { get score() { for (;;); } }", reward.OutOfFuel, ""},
	{"proxy", "return new Proxy({ score: 0.25 }, {})", reward.Scored, ""},
	{"proxy that throws", "return new Proxy({}, { ownKeys() { throw new Error('from a proxy') } })", reward.GuestError, "from a proxy"},
	{"proxy with a million keys", "return new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => 'k' + i), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })", reward.OutOfFuel, ""},
	{"proxy that was revoked", "const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy", reward.GuestError, "revoked"},
	{"thrown proxy that was revoked", "const p = Proxy.revocable({}, {}); p.revoke(); throw p.proxy", reward.GuestError, "revoked"},
	{"error that cannot be read", "const e = new Error(); Object.defineProperty(e, 'name', { get() { throw e } }); throw e", reward.GuestError, ""},
	{"error that is shown for ever", "const e = new Error(); Object.defineProperty(e, 'stack', { get() { for (;;); } }); throw e", reward.OutOfFuel, ""},
	{"throw nothing", "throw undefined", reward.GuestError, "undefined"},
	{"throw a symbol", "throw Symbol('x')", reward.GuestError, "Symbol(x)"},
	{"toJSON", "return { toJSON: () => ({ score: 0.25 }) }", reward.Scored, ""},
	{"bigint", "return 1n", reward.GuestError, "returned 1;"},
	{"bigint in a result", "return { score: 1n }", reward.GuestError, "BigInt"},
	{"score as text", "return { score: '1' }", reward.ABIViolation, "EvaluateResult"},
	{"score as an object", "return { score: { valueOf: () => 1 } }", reward.ABIViolation, "EvaluateResult"},
	{"score by prototype", "return JSON.parse('{\"__proto__\": {\"score\": 1}}')", reward.ABIViolation, "score"},
	{"result in itself", "const r = { score: 1 }; r.metrics = r; return r", reward.GuestError, "circular"},
	{"deep result", "let x = 1; for (let i = 0; i < 2e4; i++) x = [x]; return { score: 1, reason: x }", reward.OutOfFuel, ""},
	{"more metrics than steps", "return { score: 1, metrics: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [i, { score: 1, is_score_valid: true, reason: '' }])) }", reward.OutputLimit, "sandbox.steps"},
	{"endless jobs", "const job = () => Promise.resolve().then(job); job(); return 0.25", reward.Scored, ""},
	{"huge string", "return { score: 1, reason: 'x'.repeat(1 << 29) }", reward.OutOfMemory, ""},
	{"string longer than can be", "return 'x'.repeat(2 ** 31)", reward.GuestError, "RangeError"},
	{"huge array", "return new Array(2 ** 32 - 1).fill(0).length", reward.OutOfFuel, ""},
	// Whether the allocator asks for this much or refuses it by itself depends on how
	// much of the heap is free: either way the reward wanted more memory than there is.
	{"huge buffer", "return new ArrayBuffer(2 ** 31 - 1).byteLength", reward.OutOfMemory, "out of memory"},
	{"large buffer", "return new ArrayBuffer(2 ** 30).byteLength", reward.OutOfMemory, "out of memory"},
	{"huge bigint", "return Number(9n ** 999999999n)", reward.OutOfFuel, ""},
	{"waits", "return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) === 'x'", reward.GuestError, ""},
	{"compiles", "return new Function('return 0.25')() + eval('0')", reward.Scored, ""},
	{"freezes everything", "Object.getOwnPropertyNames(globalThis).forEach((n) => { try { Object.freeze(globalThis[n].prototype); Object.freeze(globalThis[n]); } catch {} }); Object.freeze(globalThis); return 0.25", reward.Scored, ""},
	{"no console", "globalThis.console = null; console.log('x')", reward.GuestError, "null"},
	{"log of a hostile value", "console.log({ toJSON() { throw 1 }, toString() { throw new Error('from a log') } }); return 1", reward.GuestError, "from a log"},
	{"answers as another trajectory", "rollout.id = 'fine'; rollout.ID = 'fine'; return 0.25", reward.Scored, ""},
}

// Promise: as above, for JavaScript.
func TestHostileJavaScript(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	text := "export default (rollout) => (cases[rollout.id] ?? (() => 0.5))(rollout);\nconst cases = {\n"
	for _, c := range hostileJavaScript {
		text += fmt.Sprintf("%q(rollout) {\n%s\n},\n", c.name, c.body)
	}
	hostileScripts(t, "reward.js", text+"};\n", hostileJavaScript)
}

// Promise: a buffer that no memory could hold is out of memory also where the
// allocator refuses it by itself, as it does while little of its heap is free.
func TestHugeBufferOfASmallReward(t *testing.T) {
	m, err := loadScript(t, oneWorker(t), "reward.js", "export default () => new ArrayBuffer(2 ** 31 - 1).byteLength")
	require.NoError(t, err)
	e := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.OutOfMemory, e.Outcome, e.Reason)
}
