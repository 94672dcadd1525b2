package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// runsTests is a reward that runs a file of unit tests; its score is how
// many, if all pass.
const runsTests = `
import unittest
import cases

def reward(messages):
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(cases).run(result)
    bad = result.errors + result.failures
    return {"score": result.testsRun if not bad else -len(bad), "reason": "\n".join(f"{t}\n{text[-600:]}" for t, text in bad)}
`

// Promise: what merit_reward.code says natively it says in the sandbox: its unit
// tests, with hostile solutions and hostile answers among them, pass there, with
// the same fuel each time.
func TestCodeInTheSandbox(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	needInterpreters(t)
	tests, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk", "python", "tests", "test_code.py"))
	require.NoError(t, err)
	dir := folder(t, map[string]string{"reward.py": runsTests, "cases.py": string(tests)})
	r := newRuntime(t, func(c *sandbox.Config) {
		c.Workers, c.CacheDir, c.Fuel, c.WallClock = 1, cacheDir(t), 20_000_000_000, 10*time.Minute
	})
	m, err := r.LoadFile(context.Background(), dir)
	require.NoError(t, err)
	first := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, first.Outcome, first.Reason)
	require.Greater(t, first.Result.Score, 20.0, first.Result.Reason)
	second := m.Evaluate(context.Background(), small())
	require.Equal(t, first.Fuel, second.Fuel)
}
