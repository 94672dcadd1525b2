package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/plugins/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/sokoban/internal/generate"
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
	require.NoError(b, g.Level(1, &level))
	for i := 0; b.Loop(); i++ {
		level.Move(board.Direction(i >> 1 & 3))
	}
}

// BenchmarkLevel draws levels.
func BenchmarkLevel(b *testing.B) {
	for _, boxes := range []int{1, 2, 3} {
		b.Run(fmt.Sprintf("boxes=%d", boxes), func(b *testing.B) {
			o := defaults()
			o.Boxes, o.Optimum.Max = boxes, 40
			src, err := newSource(o, plugin.Train)
			require.NoError(b, err)
			var level board.Board
			for i := 0; b.Loop(); i++ {
				require.NoError(b, src.Level(uint64(i), &level))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "levels/s")
		})
	}
}
