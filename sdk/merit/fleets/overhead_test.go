package fleets_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/core/processors"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
	"github.com/merit-rl/merit/sdk/merit/fleets"
)

// quick is the quickstart's environment, of which an iteration takes some 40 ms
// on two processors: nearly all that a fleet costs shows.
const quick = `
seed: 1
environment: {plugin: sokoban, slots: 128, options: {size: 6, boxes: 1, walls: [0, 3], optimum: [3, 20], max_steps: 25}}
rewards: [{environment: true}]
rollout: {groups: 64, members: 4}
advantage: {estimator: gigpo, gamma: 0.95, omega: 1, normalization: mean_norm}
policy: {hidden: [64, 64]}
ppo: {epochs: 2, minibatch: 256, entropy: 0.03, learning_rate: 5e-3}
train: {iterations: 40, evaluate_every: 100, validation_episodes: 4, test_episodes: 4}
`

// BenchmarkOverhead is the time of an iteration that goes to playing and scoring,
// the median of 37, without a fleet, with a fleet of this process, which writes and
// reads the same orders and results, and with worker processes.
func BenchmarkOverhead(b *testing.B) {
	b.Run("plain", func(b *testing.B) { overhead(b, nil) })
	b.Run("local", func(b *testing.B) {
		overhead(b, func(*merit.Config) fleet.Fleet { return local(b, processors.Count(), nil) })
	})
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			overhead(b, func(cfg *merit.Config) fleet.Fleet {
				f, err := fleets.Open(b.Context(), fleets.Embedded, cfg, fleets.OpenOptions{Workers: workers})
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, f.Close()) })
				return f
			})
		})
	}
}

func overhead(b *testing.B, connect func(*merit.Config) fleet.Fleet) {
	b.Setenv("TMPDIR", b.TempDir())
	cfg := config(b, quick)
	var f fleet.Fleet
	if connect != nil {
		f = connect(cfg)
	}
	var medians []float64
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "run")
		_, err := play(b.Context(), b, open(b, cfg), f, merit.TrainOptions{Dir: dir})
		require.NoError(b, err)
		medians = append(medians, median(b, filepath.Join(dir, run.MetricsFile)))
	}
	slices.Sort(medians)
	b.ReportMetric(1000*medians[len(medians)/2], "ms/iteration")
}

func median(b *testing.B, path string) float64 {
	file, err := os.Open(path)
	require.NoError(b, err)
	defer file.Close()
	var all []float64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var it struct {
			Time struct{ Collect, Score float64 }
		}
		require.NoError(b, json.Unmarshal(lines.Bytes(), &it))
		all = append(all, it.Time.Collect+it.Time.Score)
	}
	all = all[3:] // processes start
	slices.Sort(all)
	return all[len(all)/2]
}
