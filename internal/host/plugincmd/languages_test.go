package plugincmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/rewards/guest"
)

// Promise: a new environment in each language builds, keeps the contract in every split, rejects
// wrong options all at once, and gives the same bytes as in every other language.
func TestEnvironmentsInEveryLanguage(t *testing.T) {
	var first []string
	for _, l := range guest.Environments() {
		t.Run(l.Name, func(t *testing.T) {
			for program, hint := range l.Needs {
				testneeds.Tool(t, hint, program)
			}
			files, err := l.New("maze")
			require.NoError(t, err)
			folder := filepath.Join(t.TempDir(), "maze")
			_, err = guest.NewFolder(folder, files)
			require.NoError(t, err)
			wasm, err := l.Build(t.Context(), folder)
			require.NoError(t, err)
			cfg := host.DefaultConfig()
			cfg.Path, cfg.Slots = filepath.Join(folder, "maze.wasm"), 4
			require.NoError(t, os.WriteFile(cfg.Path, wasm, 0o600))
			var played []string
			for _, split := range []string{"train", "validation", "test"} {
				cfg.Split = split
				envtest.Run(t, func(t testing.TB) env.Env { return open(t, cfg) })
				played = append(played, play(t, open(t, cfg))...)
			}
			rejects(t, cfg)
			if first == nil {
				first = played
			}
			require.Equal(t, first, played)
		})
	}
}

func open(t testing.TB, cfg host.Config) env.Env {
	e, err := host.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func rejects(t *testing.T, cfg host.Config) {
	for options, says := range map[string]string{
		`{"length": 5}`:                          "options.length: must be a whole number from 6 to 64",
		`{"length": 8.5}`:                        "options.length: must be a whole number from 6 to 64",
		`{"length": "8"}`:                        "options.length: must be a whole number from 6 to 64",
		`{"x": {"a": [1, "}\""]}, "length": -1}`: "options.x: is not an option\noptions.length: must be a whole number from 6 to 64",
		`{"length": 8, "lengt": 1}`:              "options.lengt: is not an option",
	} {
		cfg.Options = json.RawMessage(options)
		_, err := host.Open(t.Context(), cfg)
		require.EqualError(t, err, says, options)
		require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	}
	cfg.Options = json.RawMessage(`{"length": 64}`)
	require.Equal(t, []int{64}, open(t, cfg).Spec().FeatureShape)
}

// play returns every byte of a fixed game of several episodes, apart from the fuel.
func play(t *testing.T, e env.Env) (all []string) {
	b, r := env.NewBatch(e.Spec()), env.Reply{}
	all = append(all, fmt.Sprintf("%+v", e.Spec()))
	for n := range 120 {
		b.Want = env.Want(n % 4)
		for i := range b.Ops {
			b.Ops[i], b.Actions[i] = env.Step, int32((n*5+i*3)>>1&1)
			if i == 3 {
				b.Actions[i] = 1 // reaches the way out
			}
			if n == 0 || r.Flags[i]&(env.Terminated|env.Truncated) != 0 {
				b.Ops[i], b.Seeds[i] = env.Reset, uint64(n*7+i)
			}
		}
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		r.Events = slices.DeleteFunc(r.Events, func(e env.Event) bool { return e.Name == "env_fuel" })
		all = append(all, fmt.Sprintf("%+v", r))
	}
	return all
}
