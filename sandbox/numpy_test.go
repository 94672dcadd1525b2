package sandbox_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// needNumpy lets a test stand aside where only npm's CPython is installed.
func needNumpy(t testing.TB) {
	t.Helper()
	testneeds.Slow(t, "starts interpreters many times")
	if interpreter.Python().Lacks() != "" {
		t.Skip("the installed interpreter lacks numpy: run make interpreter")
	}
}

// Promise: numbers of numpy count as natively, where trainers take float() of them: as
// scores, metrics, step rewards and flags.
func TestNumbersOfNumpy(t *testing.T) {
	needNumpy(t)
	for _, c := range []struct {
		says string
		want float64
	}{
		{"np.float64(0.5)", 0.5}, {"np.float32(0.25)", 0.25}, {"np.float16(0.5)", 0.5}, {"np.int64(3)", 3}, {"np.uint8(7)", 7},
		{"np.bool_(True)", 1}, {"np.array(0.5)", 0.5}, {"np.mean([1, 2, 3, 6])", 3}, {"np.linalg.norm([3, 4])", 5},
		{"{'score': np.float64(0.5)}", 0.5}, {"{'score': np.array(2)}", 2},
	} {
		e := evaluates(t, "import numpy as np\ndef reward(messages): return "+c.says+"\n")
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", c.says, e.Reason)
		require.Equal(t, c.want, e.Result.Score, c.says)
	}
	e := evaluates(t, `
import numpy as np
def reward(messages):
    return {"score": np.float64(1), "reason": np.str_("why"), "is_score_valid": np.bool_(True),
            "metrics": {np.str_("a"): np.float64(0.5), "b": np.int64(2), "c": {"score": np.float32(0.25), "is_score_valid": np.False_, "reason": ""}},
            "step_outputs": [{"step_index": np.int64(0), "base_reward": r} for r in np.array([0.75])]}
`)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, "why", e.Result.Reason)
	require.Len(t, e.Result.Metrics, 3)
	for i, want := range []float64{0.5, 2, 0.25} {
		require.Equal(t, want, e.Result.Metrics[i].Score)
		require.Equal(t, i < 2, e.Result.Metrics[i].IsScoreValid)
	}
	star := evaluates(t, "from numpy import *\nimport numpy.testing as npt\ndef reward(messages):\n  npt.assert_allclose(array([1, 2]), [1, 2])\n  return float(linalg.norm([3, 4]))\n")
	require.Equal(t, reward.Scored, star.Outcome, star.Reason)
	require.Equal(t, 5.0, star.Result.Score)
	invalid := evaluates(t, "import numpy as np\ndef reward(messages): return {'score': np.float64(1), 'is_score_valid': np.False_}\n")
	require.Equal(t, reward.Invalid, invalid.Outcome, invalid.Reason)
}

// Promise: what is not one finite number is an error, as with floats, and what numpy lacks
// here is named.
func TestNumpyThatIsNoScore(t *testing.T) {
	needNumpy(t)
	for says, want := range map[string]string{
		"np.float64('nan')":               "the score is NaN, not a finite number",
		"np.float64('inf')":               "the score is +Inf, not a finite number",
		"np.array([1.0, 2.0])":            "the reward returned ndarray",
		"np.linalg.inv(np.zeros((2, 2)))": "LinAlgError: Singular matrix",
		"np.array([1]).ctypes.data_as(1)": "a reward has no native code",
		"np.nothing":                      "module 'numpy' has no attribute 'nothing'",
	} {
		e := evaluates(t, "import numpy as np\ndef reward(messages): return "+says+"\n")
		require.NotEqual(t, reward.Scored, e.Outcome, says)
		require.Contains(t, e.Reason, want, says)
	}
}

// Promise: a solution that imports numpy pays for what it does, not for the import; it prints
// and returns as natively, and no solution sees that another one imported it.
func TestSolutionsWithNumpy(t *testing.T) {
	needNumpy(t)
	for name, c := range map[string]struct{ source, tests string }{
		"program":     {"import numpy as np\nn = int(input())\nprint(np.array(input().split(), dtype=np.int64).sum())", `[{"input": "3\n1 2 3\n", "output": "6"}] * 3`},
		"fast input":  {"import sys, numpy as np\nd = np.array(sys.stdin.buffer.read().split(), np.int64)\nprint(*np.cumsum(d[1:]))", `{"input": "3\n1 2 3\n", "output": "1 3 6"}`},
		"in function": {"def f(a):\n    import numpy\n    return numpy.mean(a)", `["assert f([1, 2]) == 1.5", {"call": [[1, 2]], "returns": 1.5}]`},
		"from":        {"from numpy.linalg import det\nfrom numpy import array\ndef f(a): return det(array(a))", `{"call": [[[1, 2], [3, 4]]], "returns": -2, "tolerance": 1e-9}`},
		"scalars":     {"import numpy as np\ndef f(a): return [np.int64(1), np.float32(0.5), np.bool_(True), (np.uint8(7), {np.int32(2): np.float64(3)})]", `["assert f(0) == [1, 0.5, True, (7, {2: 3.0})]"]`},
		"arrays":      {"import numpy as np\ndef f(a): return np.array(a) * 2", `["assert list(f([1, 2])) == [2, 4]", {"call": [[[1], [2]]], "returns": [[2], [4]]}]`},
		"random":      {"import numpy as np\ndef f(a): return np.random.default_rng(1).integers(0, 10, 3)", `{"call": [0], "returns": [4, 5, 7]}`},
		"method":      {"import numpy as np\nclass Solution:\n    def f(self, a: List[int]) -> int:\n        return np.max(a)", `{"call": [[3, 9]], "returns": 9}`},
	} {
		e := evaluates(t, fmt.Sprintf("from merit_reward import code\ndef reward(messages):\n    r = code.run(%q, %s, entry_point='f', preamble=True, fuel=20_000_000)\n"+
			"    return {'score': r.all_passed, 'reason': str(r)}\n", c.source, c.tests))
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", name, e.Reason)
		require.Equal(t, 1.0, e.Result.Score, "%s: %s", name, e.Result.Reason)
	}
	e := evaluates(t, "from merit_reward import code\ndef reward(messages):\n    return code.run('import sys\\ndef f(): return \"nump\" + \"y\" in sys.modules', 'assert not f()').passed\n")
	require.Equal(t, 1.0, e.Result.Score)
}

// Promise: solutions whose recursion or imports need more than npm's build gives them run on Merit's own.
func TestSolutionsOnTheOwnBuild(t *testing.T) {
	needNumpy(t)
	for name, source := range map[string]string{
		"recursion": "import sys\nsys.setrecursionlimit(10**6)\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\ndef f(): return g(100_000) == 100_000",
		"cache":     "import sys, functools\nsys.setrecursionlimit(10**6)\n@functools.cache\ndef g(n): return 0 if n == 0 else g(n - 1) + 1\ndef f(): return g(1500) == 1500",
		"asyncio": "import asyncio\nasync def work(x):\n    await asyncio.sleep(0)\n    return x\nasync def main(): return sum(await asyncio.gather(*map(work, range(4))))\n" +
			"def f(): return asyncio.run(main()) == 6",
		"doctest": "import doctest\ndef f(): return bool(doctest)",
	} {
		e := evaluates(t, fmt.Sprintf("from merit_reward import code\ndef reward(messages):\n    r = code.run(%q, 'assert f()')\n    return {'score': r.all_passed, 'reason': str(r)}\n", source))
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", name, e.Reason)
		require.Equal(t, 1.0, e.Result.Score, "%s: %s", name, e.Result.Reason)
	}
}

// Promise: on a build without numpy, a solution that imports it is told so by name; that is its
// verdict, and no failure of the evaluation.
func TestSolutionsWithoutNumpy(t *testing.T) {
	needInterpreters(t)
	if interpreter.Python().Lacks() == "" {
		t.Skip("the installed interpreter has numpy")
	}
	e := evaluates(t, "from merit_reward import code\ndef reward(messages):\n    r = code.run('import numpy as np', 'pass')\n"+
		"    return {'score': 0, 'reason': f'{r.tests[0].verdict}: {r.tests[0].message}'}\n")
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Contains(t, e.Result.Reason, "error: ")
	require.Contains(t, e.Result.Reason, "numpy")
}
