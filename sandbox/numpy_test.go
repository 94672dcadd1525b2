package sandbox_test

import (
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
