package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/plugins/host"
)

// BenchmarkPlugin steps Sokoban over its process and socket: episodes of 25
// steps with their resets among them, eight slots a seed as in a group.
func BenchmarkPlugin(b *testing.B) {
	for _, slots := range []int{1, 64, 256} {
		for _, c := range []struct {
			name string
			want env.Want
		}{{"bare", 0}, {"features", env.WantFeatures}, {"text+features", env.WantText | env.WantFeatures}} {
			b.Run(fmt.Sprintf("slots=%d/%s", slots, c.name), func(b *testing.B) {
				cfg := sokoban(b, slots)
				cfg.Options = json.RawMessage(`{}`)
				e := open(b, cfg)
				batch, reply := env.NewBatch(e.Spec()), env.Reply{}
				batch.Want = c.want
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

// BenchmarkOpen starts, configures and ends a plug-in.
func BenchmarkOpen(b *testing.B) {
	cfg := sokoban(b, 64)
	for b.Loop() {
		e, err := host.Open(b.Context(), cfg)
		require.NoError(b, err)
		require.NoError(b, e.Close())
	}
}

// BenchmarkAct asks a policy that answers at once: what is measured is the way
// there and back. A conversation has four messages of some 200 bytes.
func BenchmarkAct(b *testing.B) {
	for _, callers := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			cfg := bandit(b)
			cfg.Learn = false
			l := openPolicy(b, cfg)
			o := observation(strings.Repeat("You see a wall. ", 12))
			o.Messages = append(o.Messages, o.Messages...)
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				all.Go(func() {
					list, decisions := []policy.Observation{o}, make([]policy.Decision, 1)
					for left.Add(-1) >= 0 {
						if err := l.Act(b.Context(), list, decisions); err != nil || decisions[0].Err != nil {
							b.Error(err, decisions[0].Err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/request")
		})
	}
}
