package plugins_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/cputime"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/host"
	tiles "github.com/merit-rl/merit/plugins/internal/2048"
	"github.com/merit-rl/merit/plugins/internal/frozenlake"
	"github.com/merit-rl/merit/plugins/internal/grid"
	"github.com/merit-rl/merit/plugins/internal/htdag"
	"github.com/merit-rl/merit/plugins/internal/sokoban"
	"github.com/merit-rl/merit/plugins/internal/toolbox"
	"github.com/merit-rl/merit/sdk/plugin"
)

// pure are the environments that need nothing but their options: they also run as modules.
var pure = []struct {
	name, options string
	open          func(plugin.Setup, json.RawMessage) (env.Env, error)
}{
	{"sokoban", `{}`, sokoban.Definition().Open},
	{"frozenlake", `{"size": [4, 6]}`, frozenlake.Definition().Open},
	{"2048", `{"max_steps": 40}`, tiles.Definition().Open},
	{"grid", `{}`, grid.Definition().Open},
	{"htdag", `{}`, htdag.Definition().Open},
	{"toolbox", `{}`, toolbox.Definition().Open},
}

// module opens an environment as a module.
func module(t *testing.T, file, options, split string, slots int) env.Env {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Options, cfg.Split, cfg.Slots = file, json.RawMessage(options), split, slots
	e, err := host.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// spoken are actions for environments that take text.
var spoken = []string{
	"I do not know.", "", "✓", `[{"id":"a","type":"function","function":{"name":"add_note","arguments":"{\"title\":\"x\"}"}}]`,
}

// fingerprint is every byte of what the slots answered that the batch asked.
func fingerprint(spec env.Spec, b *env.Batch, r *env.Reply) string {
	own := slices.DeleteFunc(slices.Clone(r.Events), func(e env.Event) bool { return e.Name == "env_fuel" }) // the host's
	text := fmt.Sprint(own)
	actions, features := len(spec.Actions), spec.Features()
	for i, op := range b.Ops {
		if op == env.Skip {
			continue
		}
		text += fmt.Sprintf("\n%d %q %v %v %v", i, r.Anchor[i], r.Reward[i], r.Flags[i], r.Mask[i*actions:(i+1)*actions])
		if len(r.Text) > 0 {
			text += fmt.Sprintf(" %q", r.Text[i])
		}
		if len(r.Features) > 0 {
			text += fmt.Sprint(r.Features[i*features : (i+1)*features])
		}
	}
	return text
}

// play plays a fixed game of several episodes in each slot, and returns each exchange. At
// times a slot waits, and columns are not wanted.
func play(t *testing.T, e env.Env, exchanges int) (all []string) {
	spec := e.Spec()
	b, r := env.NewBatch(spec), env.Reply{}
	for n := range exchanges {
		b.Want = env.Want(n % 4)
		for i := range b.Ops {
			over := n == 0 || b.Ops[i] != env.Skip && r.Flags[i]&(env.Terminated|env.Truncated|env.Failed) != 0
			switch {
			case over:
				b.Ops[i], b.Seeds[i] = env.Reset, uint64(n/3*len(b.Ops)+i/2)
			case (n+i)%7 == 0:
				b.Ops[i] = env.Skip
			default:
				b.Ops[i], b.Texts[i] = env.Step, spoken[(n+i)%len(spoken)]
			}
			if actions := len(spec.Actions); actions > 0 {
				b.Actions[i] = int32((n*5 + i*3) >> 1 % actions)
			}
		}
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		for i, op := range b.Ops { // a slot that waits keeps its flags
			if op == env.Skip {
				r.Flags[i] = 0
			}
		}
		all = append(all, fingerprint(spec, b, &r))
	}
	return all
}

// Promise: an environment answers the same bytes as a module and as a program, in every
// split, and draws the same picture.
func TestModulesAnswerTheSameBytes(t *testing.T) {
	for _, p := range pure {
		t.Run(p.name, func(t *testing.T) {
			if p.name != "sokoban" && p.name != "toolbox" {
				testneeds.Slow(t, "builds a module of every environment")
			}
			file := envtest.Module(t, "plugins/"+p.name)
			for _, split := range []string{plugin.Train, plugin.Validation, plugin.Test} {
				own, err := p.open(plugin.Setup{Slots: 10, Split: split}, json.RawMessage(p.options))
				require.NoError(t, err)
				m := module(t, file, p.options, split, 10)
				spec := own.Spec()
				spec.Snapshots = true // every module has them
				require.Equal(t, spec, m.Spec())
				want, got := play(t, own, 150), play(t, m, 150)
				for n := range want {
					require.Equal(t, want[n], got[n], "exchange %d", n)
				}
				drawn, err := own.(env.Renderer).Render(t.Context(), 3)
				there, err2 := m.(env.Renderer).Render(t.Context(), 3)
				require.Equal(t, err == nil, err2 == nil)
				require.Equal(t, drawn, there)
			}
		})
	}
}

// Promise: bytes and fuel depend only on seeds and actions: not on the number of slots, on
// other slots, or on what was played before.
func TestModulesUseTheSameFuel(t *testing.T) {
	file := envtest.Module(t, "plugins/sokoban")
	var fuel []uint64
	for _, slots := range []int{1, 5, 40} {
		e := module(t, file, `{}`, plugin.Train, slots)
		b, r := env.NewBatch(e.Spec()), env.Reply{}
		first := ""
		for n := range 30 {
			for i := range b.Ops {
				b.Ops[i], b.Seeds[i], b.Actions[i], b.Want = env.Step, 7, int32(n>>1&3), env.WantFeatures
				if n%10 == 0 {
					b.Ops[i] = env.Reset
				}
			}
			require.NoError(t, e.Exchange(t.Context(), b, &r))
			for i := range b.Ops {
				require.Equal(t, r.Anchor[0], r.Anchor[i])
			}
			if n%10 == 0 {
				require.True(t, first == "" || first == r.Anchor[0])
				first = r.Anchor[0]
			}
		}
		fuel = append(fuel, e.(interface{ Fuel() uint64 }).Fuel()/uint64(slots))
	}
	require.Equal(t, fuel[0], fuel[1])
	require.Equal(t, fuel[0], fuel[2])
	require.NotZero(t, fuel[0])
}

// Promise: modules keep the contract of environments.
func TestModulesKeepTheContract(t *testing.T) {
	for _, p := range pure {
		t.Run(p.name, func(t *testing.T) {
			if p.name != "sokoban" {
				testneeds.Slow(t, "checks the contract of every module")
			}
			file := envtest.Module(t, "plugins/"+p.name)
			envtest.Run(t, func(testing.TB) env.Env { return module(t, file, p.options, plugin.Train, 5) })
		})
	}
}

// Promise: what a module rejects in its options is the same error as that of a program,
// with all problems at once.
func TestModulesRejectOptions(t *testing.T) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Options = envtest.Module(t, "plugins/sokoban"), json.RawMessage(`{"boxes": 9, "speed": 1}`)
	_, err := host.Open(t.Context(), cfg)
	require.EqualError(t, err, "options.speed: is not an option\noptions.boxes: must be 1 to 5 on a board of this size, not 9")
	cfg.Options, cfg.Args, cfg.PassEnv = nil, []string{"-v"}, []string{"HOME"}
	_, err = host.Open(t.Context(), cfg)
	require.EqualError(t, err, "args: [-v] is not allowed\npass_env: [HOME] is not allowed")
}

// BenchmarkModule steps Sokoban as a module, episodes of 25 steps with their resets among
// them, eight slots a seed as in a group: as BenchmarkInProcess of Sokoban does.
func BenchmarkModule(b *testing.B) {
	cfg := host.DefaultConfig()
	cfg.Path = envtest.Module(b, "plugins/sokoban")
	for _, slots := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			cfg.Slots = slots
			e, err := host.Open(b.Context(), cfg)
			require.NoError(b, err)
			defer e.Close()
			batch, reply := env.NewBatch(e.Spec()), env.Reply{}
			batch.Want = env.WantFeatures
			for s := range slots {
				batch.Ops[s] = env.Reset
			}
			require.NoError(b, e.Exchange(b.Context(), batch, &reply)) // makes the instances
			used := cputime.Seconds()
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
			b.ReportMetric((cputime.Seconds()-used)*1e9/float64(b.N*slots), "cpu-ns/step")
		})
	}
}
