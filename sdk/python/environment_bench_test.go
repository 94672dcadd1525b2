package python_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
)

// BenchmarkEnvironment steps a maze of tables over its process and its socket,
// written slot by slot and for all slots at once, as a training does: what is
// over is reset in the next batch.
func BenchmarkEnvironment(b *testing.B) {
	for _, way := range []string{"slots", "vector"} {
		for _, slots := range []int{1, 16, 64, 256} {
			for name, want := range map[string]env.Want{"bare": 0, "text+features": env.WantText | env.WantFeatures} {
				b.Run(fmt.Sprintf("%s=%d/%s", way, slots, name), func(b *testing.B) {
					e := open(b, environment(b, slots, filepath.Join("bench", "table.py"), way))
					batch, reply := env.NewBatch(e.Spec()), env.Reply{}
					batch.Want = want
					for i := 0; b.Loop(); i++ {
						for s := range slots {
							batch.Ops[s], batch.Actions[s] = env.Step, int32((i*7+s*3)>>1&3)
							if i == 0 || reply.Flags[s]&(env.Terminated|env.Truncated) != 0 {
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
}
