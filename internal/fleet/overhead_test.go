package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// quick is a fourth of the quickstart. Its iterations take about 60 ms on two CPUs, so nearly
// all of a fleet's overhead shows.
const quick = `
seed: 1
environment: {plugin: sokoban, slots: 128, options: {size: 6, boxes: 1, walls: [0, 3], optimum: [3, 20], max_steps: 25}}
rewards: [{environment: true}]
rollout: {groups: 64, members: 4}
advantage: {estimator: gigpo, gamma: 0.95, omega: 1, normalization: mean_norm}
policy: {hidden: [64, 64]}
ppo: {epochs: 2, minibatch: 256, entropy: 0.03, learning_rate: 5e-3}
train: {iterations: 200, evaluate_every: 20, validation_episodes: 500, test_episodes: 1000, skip_zero: true}
`

// BenchmarkOverhead measures the time of a whole run, and the median time that an iteration
// spends on playing and scoring: without a fleet, with a fleet in this process, which encodes
// and decodes the same orders and results, and with worker processes. They alternate, so that a
// temporary slowdown of the machine affects all.
func BenchmarkOverhead(b *testing.B) {
	b.Setenv("TMPDIR", b.TempDir())
	cfg := config(b, quick)
	type way struct {
		name        string
		fleet       queue.Fleet
		whole, part []float64 // of each run, in seconds
	}
	all := []*way{{name: "plain"}, {name: "local", fleet: local(b, cpus.Count(), nil)}}
	for _, workers := range []int{1, 2, 4} {
		f, err := fleet.Open(b.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: workers})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, f.Close()) })
		all = append(all, &way{name: fmt.Sprintf("%d-workers", workers), fleet: f})
	}
	for b.Loop() {
		for _, w := range all {
			dir := filepath.Join(b.TempDir(), "run")
			began := time.Now()
			_, err := play(b.Context(), b, open(b, cfg), w.fleet, merit.TrainOptions{Dir: dir})
			require.NoError(b, err)
			w.whole = append(w.whole, time.Since(began).Seconds())
			w.part = append(w.part, playing(b, filepath.Join(dir, run.MetricsFile)))
		}
	}
	for _, w := range all {
		b.ReportMetric(middle(w.whole), w.name+"-s/run")
		b.ReportMetric(1000*middle(w.part), w.name+"-ms/iteration")
		b.ReportMetric(middle(ratios(w.whole, all[1].whole)), w.name+"/local")
	}
}

// ratios returns the ratio of each run to its counterpart.
func ratios(of, to []float64) (all []float64) {
	for i := range of {
		all = append(all, of[i]/to[i])
	}
	return all
}

// playing returns the median over the iterations of a run, in seconds.
func playing(b *testing.B, path string) float64 {
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
	return middle(all[3:]) // processes start
}

func middle(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
