package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/internal/host"
)

// shipped are the environments in Go that need no other program, in the form whose
// actions have names, otherwise with their default options.
var shipped = []struct{ name, options string }{
	{"sokoban", `{}`}, {"frozenlake", `{}`}, {"2048", `{}`}, {"grid", `{}`}, {"toolbox", `{"form": "choice"}`}, {"htdag", `{"form": "choice"}`},
}

// BenchmarkPlugin steps environments in their processes. It takes actions in turn,
// plays episodes to their ends with resets in the same batches as steps, and uses eight
// slots per seed, as in a group.
func BenchmarkPlugin(b *testing.B) {
	for _, e := range shipped {
		for _, transport := range []string{"lane", "grpc"} {
			for _, slots := range []int{1, 16, 64, 256} {
				for _, want := range []env.Want{0, env.WantFeatures} {
					columns := map[env.Want]string{0: "bare", env.WantFeatures: "features"}[want]
					b.Run(fmt.Sprintf("env=%s/transport=%s/slots=%d/%s", e.name, transport, slots, columns), func(b *testing.B) {
						cfg := sokoban(b, slots)
						cfg.Path, cfg.Options, cfg.GRPCOnly = build(b, "./plugins/"+e.name), json.RawMessage(e.options), transports[transport]
						play(b, open(b, cfg), want)
					})
				}
			}
		}
	}
}

// BenchmarkTwoPlugins does the same with half of the slots in each of two processes, as
// a rollout with two workers does. It shows what two cores achieve together.
func BenchmarkTwoPlugins(b *testing.B) {
	for _, e := range shipped {
		for _, slots := range []int{64, 256} {
			for _, want := range []env.Want{0, env.WantFeatures} {
				columns := map[env.Want]string{0: "bare", env.WantFeatures: "features"}[want]
				b.Run(fmt.Sprintf("env=%s/slots=%d/%s", e.name, slots, columns), func(b *testing.B) {
					cfg := sokoban(b, slots/2)
					cfg.Path, cfg.Options = build(b, "./plugins/"+e.name), json.RawMessage(e.options)
					players := []*player{newPlayer(open(b, cfg), want), newPlayer(open(b, cfg), want)}
					b.ResetTimer()
					var all sync.WaitGroup
					for k, p := range players {
						all.Go(func() {
							for range b.N {
								if err := p.turn(b.Context(), uint64(k)); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					all.Wait()
					b.ReportMetric(float64(b.N*slots)/b.Elapsed().Seconds(), "steps/s")
				})
			}
		}
	}
}

// play steps e until the benchmark ends.
func play(b *testing.B, e env.Env, want env.Want) {
	p := newPlayer(e, want)
	for b.Loop() {
		if err := p.turn(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*e.Spec().Slots)/b.Elapsed().Seconds(), "steps/s")
}

// player takes actions in turn.
type player struct {
	env     env.Env
	actions int
	batch   *env.Batch
	reply   env.Reply
	resets  []uint64 // of each slot
	turns   int
}

func newPlayer(e env.Env, want env.Want) *player {
	spec := e.Spec()
	p := &player{env: e, actions: len(spec.Actions), batch: env.NewBatch(spec), reply: env.Reply{Flags: make([]env.Flag, spec.Slots)}, resets: make([]uint64, spec.Slots)}
	p.batch.Want = want
	return p
}

// turn steps every slot, or resets it if its episode is over. Eight slots play the same
// starts, as the members of a group do, each at its own pace.
func (p *player) turn(ctx context.Context, seed uint64) error {
	for s, flags := range p.reply.Flags {
		if p.turns == 0 || flags&(env.Terminated|env.Truncated|env.Failed) != 0 {
			p.batch.Ops[s], p.batch.Seeds[s] = env.Reset, seed<<48+uint64(s/8)<<32+p.resets[s]
			p.resets[s]++
			continue
		}
		mask, a := p.reply.Mask[s*p.actions:(s+1)*p.actions], ((p.turns*7+s*3)>>1)%p.actions
		for mask[a] == 0 {
			a = (a + 1) % p.actions
		}
		p.batch.Ops[s], p.batch.Actions[s] = env.Step, int32(a)
	}
	p.turns++
	return p.env.Exchange(ctx, p.batch, &p.reply)
}

// BenchmarkOpen starts, configures and stops a plug-in.
func BenchmarkOpen(b *testing.B) {
	cfg := sokoban(b, 64)
	for b.Loop() {
		e, err := host.Open(b.Context(), cfg)
		require.NoError(b, err)
		require.NoError(b, e.Close())
	}
}

// BenchmarkAct asks a policy that answers at once, so it measures the round trip. A
// conversation has four messages of about 200 bytes each.
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
