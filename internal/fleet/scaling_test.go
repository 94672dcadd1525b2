package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/sdk/merit"
)

// thorough is a reward that uses about 15 ms of CPU time.
const thorough = `
export default function (rollout) {
  let x = 0;
  for (let i = 0; i < 150000; i++) x = (x * 31 + i) % 1000003;
  return { score: rollout.messages.length + x / 1e9, is_score_valid: true, metrics: {} };
}
`

// BenchmarkScaling measures how much of an iteration goes to playing and scoring if an
// iteration takes CPU seconds: with worker processes that have one CPU each, one after another,
// and without a fleet on all CPUs. It pins processes with taskset, which Linux has.
func BenchmarkScaling(b *testing.B) {
	b.Setenv("TMPDIR", b.TempDir())
	reward := filepath.Join(b.TempDir(), "reward.js")
	require.NoError(b, os.WriteFile(reward, []byte(thorough), 0o644))
	cfg := config(b, quick, "rewards=[{module: "+reward+"}]", "train.iterations=6", "train.validation_episodes=4", "train.test_episodes=4", "rollout.groups=32", "fleet.groups=1", "environment.slots=4", "policy.hidden=[16]")
	self, err := os.Executable()
	require.NoError(b, err)
	pinned := []string{"sh", "-c", `exec taskset -c $(( ${5##*-} % $(nproc) )) "$0" "$@"`, self}
	train := func(name string, workers int) float64 {
		dir := filepath.Join(b.TempDir(), "run")
		o := merit.TrainOptions{Dir: dir}
		if workers == 0 {
			_, err := play(b.Context(), b, open(b, cfg), nil, o)
			require.NoError(b, err)
		} else {
			f, err := fleet.Open(b.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: workers, Program: pinned})
			require.NoError(b, err)
			defer func() { require.NoError(b, f.Close()) }()
			_, err = play(b.Context(), b, open(b, cfg), f, o)
			require.NoError(b, err)
		}
		s := playing(b, filepath.Join(dir, run.MetricsFile))
		b.ReportMetric(1000*s, name+"-ms/iteration")
		return s
	}
	for b.Loop() {
		train("plain", 0)
		one := train("1-worker", 1)
		for _, workers := range []int{2, 4} {
			b.ReportMetric(one/train(fmt.Sprintf("%d-workers", workers), workers), fmt.Sprintf("%d-workers-speedup", workers))
		}
	}
}
