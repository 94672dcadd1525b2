package htdag

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
)

// BenchmarkInProcess steps htdag without a plug-in: random available actions,
// resets where an episode ends, eight slots a seed as in a group.
func BenchmarkInProcess(b *testing.B) {
	for _, slots := range []int{1, 64} {
		for name, want := range map[string]env.Want{"features": env.WantFeatures, "text+features": env.WantText | env.WantFeatures} {
			b.Run(fmt.Sprintf("slots=%d/%s", slots, name), func(b *testing.B) {
				e := open(b, slots, `{}`)
				spec := e.Spec()
				batch, reply := env.NewBatch(spec), env.Reply{Flags: make([]env.Flag, slots)}
				batch.Want = want
				for i := 0; b.Loop(); i++ {
					for s := range slots {
						batch.Ops[s] = env.Step
						if i == 0 || reply.Flags[s]&env.Terminated != 0 {
							batch.Ops[s], batch.Seeds[s] = env.Reset, uint64(i*slots+s)/8
							continue
						}
						mask := reply.Mask[s*len(spec.Actions):][:len(spec.Actions)]
						a := (i*7 + s*3) % len(mask)
						for mask[a] == 0 {
							a = (a + 1) % len(mask)
						}
						batch.Actions[s] = int32(a)
					}
					require.NoError(b, e.Exchange(b.Context(), batch, &reply))
				}
				b.ReportMetric(float64(b.N*slots)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}
