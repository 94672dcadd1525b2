package sokoban

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/generate"
	"github.com/merit-rl/merit/sdk/plugin"
)

// BenchmarkInProcess steps Sokoban without a plug-in, episodes of 25 steps
// with their resets among them, eight slots a seed as in a group.
func BenchmarkInProcess(b *testing.B) {
	for _, slots := range []int{1, 64} {
		for name, want := range map[string]env.Want{"features": env.WantFeatures, "text+features": env.WantText | env.WantFeatures} {
			b.Run(fmt.Sprintf("slots=%d/%s", slots, name), func(b *testing.B) {
				e := open(b, slots, plugin.Train, `{}`)
				batch, reply := env.NewBatch(e.Spec()), env.Reply{}
				batch.Want = want
				for i := 0; b.Loop(); i++ {
					for s := range slots {
						batch.Ops[s], batch.Actions[s] = env.Step, int32((i*7+s*3)>>1&3)
						if i%25 == 0 {
							batch.Ops[s], batch.Seeds[s] = env.Reset, uint64(i*slots+s)/8
						}
					}
					require.NoError(b, e.Exchange(b.Context(), batch, &reply))
				}
				b.ReportMetric(float64(b.N*slots)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}

// BenchmarkMove is a move alone.
func BenchmarkMove(b *testing.B) {
	g := generate.New(generate.Config{Side: 6, Boxes: 1, Walls: generate.Range{Max: 3}, Optimum: generate.Range{Min: 3, Max: 20}})
	var level board.Board
	_, err := g.Level(1, &level)
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		level.Move(board.Direction(i >> 1 & 3))
	}
}

// BenchmarkOptimum searches levels of a Boxoban file once each, as their first
// resets do.
func BenchmarkOptimum(b *testing.B) {
	for _, states := range []int{0, 10_000, 200_000} {
		b.Run(fmt.Sprintf("states=%d", states), func(b *testing.B) {
			o := defaults()
			o.OptimumStates = states
			o.Levels.BySplit = map[string]string{plugin.Train: testneeds.Shared(b, "data", "boxoban", "unfiltered_valid_000.txt")}
			known := 0
			for range b.N {
				b.StopTimer()
				src, err := newSource(o, plugin.Train)
				require.NoError(b, err)
				b.StartTimer()
				for seed := range uint64(100) {
					l, err := src.Level(seed, &level{})
					require.NoError(b, err)
					known += min(l.optimum, 1)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(100*b.N), "µs/level")
			b.ReportMetric(float64(known)/float64(b.N), "%known")
		})
	}
}

// BenchmarkLevel draws levels.
func BenchmarkLevel(b *testing.B) {
	for _, boxes := range []int{1, 2, 3, 4} {
		b.Run(fmt.Sprintf("boxes=%d", boxes), func(b *testing.B) {
			o := defaults()
			o.Boxes, o.Optimum.Max = boxes, 40
			src, err := newSource(o, plugin.Train)
			require.NoError(b, err)
			for i := 0; b.Loop(); i++ {
				_, err := src.Level(uint64(i), &level{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "levels/s")
		})
	}
}
