package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// deepCode scores how deep each kind of recursion went before a RangeError.
const deepCode = `
let deepest;
const ways = {
  call: (f) => f() + 1,
  map: (f) => [1].map(f)[0],
  sort: (f) => [2, 1].sort(f)[0],
  reviver: (f) => JSON.parse("[1]", f),
  replace: (f) => "aa".replace(/a/g, f),
  toString: (f) => String({ toString: f }),
  proxy: (f) => new Proxy({}, { get: f }).x,
  construct: (f) => new (class { constructor() { f(); } })(),
  generate: (f) => [...(function* () { yield* f(); })()],
};
export default function () {
  const metrics = {};
  for (const [name, way] of Object.entries(ways)) {
    deepest = 0;
    const again = () => { deepest++; return way(again); };
    try {
      again();
      throw new Error(name + " ended");
    } catch (e) {
      if (!(e instanceof RangeError)) throw e;
      metrics[name] = deepest;
    }
  }
  return { score: 1, metrics };
}
`

// Promise: recursion without an end, through any built-in, is a RangeError that a reward can
// catch. So is a text that nests too deeply; on npm's build, it is a trap.
func TestRecursionInJavaScript(t *testing.T) {
	e := inJavaScript(t, deepCode)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Len(t, e.Result.Metrics, 9)
	least, nested := 500.0, reward.GuestError
	if interpreter.JavaScript().Package != "" {
		least, nested = 300, reward.Trap
	}
	for _, metric := range e.Result.Metrics {
		require.GreaterOrEqual(t, metric.Score, least, metric.Name)
	}
	for _, text := range []string{`JSON.parse("[".repeat(1e5) + "]".repeat(1e5))`, `eval("(".repeat(2e4) + ")".repeat(2e4))`} {
		e := inJavaScript(t, "export default () => "+text+";")
		require.Equal(t, nested, e.Outcome, e.Reason)
		require.Regexp(t, "RangeError|nested too deeply", e.Reason)
	}
}
