package tiles

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/sdk/plugin"
)

// BenchmarkInProcess plays games of random moves without a plug-in, with their
// resets among them.
func BenchmarkInProcess(b *testing.B) {
	for _, slots := range []int{1, 64} {
		for name, want := range map[string]env.Want{"features": env.WantFeatures, "text+features": env.WantText | env.WantFeatures} {
			b.Run(fmt.Sprintf("slots=%d/%s", slots, name), func(b *testing.B) {
				e := open(b, slots, plugin.Train, `{}`)
				batch, reply := env.NewBatch(e.Spec()), env.Reply{Flags: make([]env.Flag, slots), Mask: make([]byte, 4*slots)}
				batch.Want = want
				for s := range slots {
					reply.Flags[s] = env.Terminated
				}
				for i := 0; b.Loop(); i++ {
					for s := range slots {
						if reply.Flags[s]&env.Terminated != 0 {
							batch.Ops[s], batch.Seeds[s] = env.Reset, uint64(i*slots+s)
							continue
						}
						at := i*7 + s*3
						for reply.Mask[4*s+at&3] == 0 {
							at++
						}
						batch.Ops[s], batch.Actions[s] = env.Step, int32(at&3)
					}
					require.NoError(b, e.Exchange(b.Context(), batch, &reply))
				}
				b.ReportMetric(float64(b.N*slots)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}
