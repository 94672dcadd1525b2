package sandbox_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: recursion through a built-in goes hundreds of calls deep and then raises
// RecursionError; plain recursion goes much deeper. On npm's CPython, which fills its C
// stack, it is a trap whose reason says so and what to do.
func TestRecursionThroughBuiltins(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	recur := func(step string, depth int) reward.Evaluation {
		return evaluates(t, fmt.Sprintf("import sys\nsys.setrecursionlimit(100_000)\ndef f(n): return 0 if n == 0 else %s\ndef reward(messages): return f(%d)\n", step, depth))
	}
	for _, step := range []string{"sum(f(n - 1) for _ in [0])", "max(map(f, [n - 1]))", "sorted([n - 1], key=f)[0]"} {
		if interpreter.Python().Package == "" {
			e := recur(step, 50_000)
			require.Equal(t, reward.GuestError, e.Outcome, e.Reason)
			require.Contains(t, e.Reason, "RecursionError", step)
			require.Equal(t, reward.Scored, recur(step, 600).Outcome, step)
			continue
		}
		e := recur(step, 1000)
		require.Equal(t, reward.Trap, e.Outcome, e.Reason)
		require.Contains(t, e.Reason, "too deep for the interpreter's C stack", step)
		require.Contains(t, e.Reason, "Call the function in a for loop")
	}
	e := evaluates(t, `
import sys
sys.setrecursionlimit(100_000)
def f(n):
    if n == 0: return 0
    total = 1
    for m in [n - 1]: total += f(m)
    return total
def reward(messages): return f(5000)
`)
	require.Equal(t, 5000.0, e.Result.Score, e.Reason)
}
