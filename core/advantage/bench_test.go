package advantage_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/stretchr/testify/require"
)

// batch returns rows of groups × members × steps with random rewards and
// scores, and anchors drawn from 32 states.
func batch(groups, members, steps int, seed uint64) *advantage.Rows {
	random := rand.New(rand.NewPCG(seed, 1))
	states := make([]string, 32)
	for i := range states {
		states[i] = fmt.Sprintf("################ state %02d ................", i)
	}
	r, scores := new(advantage.Rows), [][2]float64(nil)
	for g := range groups {
		for m := range members {
			score := math.Abs(random.NormFloat64())
			right := score / 2
			for t := range steps {
				r.Group = append(r.Group, int32(g))
				r.Trajectory = append(r.Trajectory, int32(g*members+m))
				r.Step = append(r.Step, int32(t))
				r.Anchor = append(r.Anchor, states[random.IntN(len(states))])
				r.Reward = append(r.Reward, random.NormFloat64())
				r.Score = append(r.Score, score)
				r.Value = append(r.Value, random.NormFloat64())
				r.Role = append(r.Role, []string{"buyer", "seller"}[t%2])
				r.Greedy = append(r.Greedy, float64(g)/2)
				scores = append(scores, [2]float64{right, 3 * (score - right)})
			}
		}
	}
	first, second := r.AddReward("right", 1), r.AddReward("form", 1./3)
	for i, x := range scores {
		first[i], second[i] = x[0], x[1]
	}
	return r
}

// Rows per second of every estimator, in memory, with reused buffers.
func BenchmarkEstimate(b *testing.B) {
	for _, est := range advantage.Estimators() {
		for _, n := range []int{1_024, 10_240, 102_400} {
			cfg := advantage.Default()
			cfg.Estimator = est.Name
			rows := batch(n/128, 8, 16, 7)
			b.Run(fmt.Sprintf("%s/%d", est.Name, n), func(b *testing.B) {
				var res advantage.Result
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, advantage.Estimate(cfg, rows, &res))
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
