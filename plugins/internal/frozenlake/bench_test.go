package frozenlake

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/sdk/plugin"
)

// BenchmarkInProcess crosses lakes with random moves without a plug-in, with
// their resets among them, eight slots a seed as in a group.
func BenchmarkInProcess(b *testing.B) {
	for _, slots := range []int{1, 64} {
		for name, want := range map[string]env.Want{"features": env.WantFeatures, "text+features": env.WantText | env.WantFeatures} {
			b.Run(fmt.Sprintf("slots=%d/%s", slots, name), func(b *testing.B) {
				e := open(b, slots, plugin.Train, `{}`)
				batch, reply := env.NewBatch(e.Spec()), env.Reply{Flags: make([]env.Flag, slots)}
				batch.Want = want
				for s := range slots {
					reply.Flags[s] = env.Terminated
				}
				for i := 0; b.Loop(); i++ {
					for s := range slots {
						batch.Ops[s], batch.Actions[s] = env.Step, int32((i*7+s*3)>>1&3)
						if reply.Flags[s]&(env.Terminated|env.Truncated) != 0 {
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
