package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: recursion through a built-in that fills the interpreter's C stack is a
// trap whose reason says so and what to do; plain recursion goes much deeper.
func TestRecursionThroughBuiltinsIsExplained(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	for _, step := range []string{"sum(f(n - 1) for _ in [0])", "max(map(f, [n - 1]))", "sorted([n - 1], key=f)[0]"} {
		e := evaluates(t, "import sys\nsys.setrecursionlimit(100_000)\ndef f(n): return 0 if n == 0 else "+step+"\ndef reward(messages): return f(1000)\n")
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
