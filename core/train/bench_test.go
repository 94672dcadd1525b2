package train_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/train"
)

// BenchmarkRun is a whole small run, checkpoints, evaluations and report
// included, in an environment that costs next to nothing: what the loop itself
// costs.
func BenchmarkRun(b *testing.B) {
	steps := 0.0
	for b.Loop() {
		dir, err := openDir(b.TempDir(), false)
		require.NoError(b, err)
		s := settings()
		s.Train.Iterations, s.Train.EvaluateEvery = 50, 25
		summary, err := train.Run(b.Context(), s, deps(), dir)
		require.NoError(b, err)
		require.NoError(b, dir.Close())
		steps += float64(summary.EnvSteps)
	}
	b.ReportMetric(steps/b.Elapsed().Seconds(), "steps/s")
}
