package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
)

// sokoban builds the plug-in and returns how to open it.
func sokoban(t testing.TB, slots int) rollout.Open {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sokoban")
	cmd := exec.Command("go", "build", "-o", path, "./plugins/sokoban")
	cmd.Dir = testneeds.Root()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = path, slots
	return func(ctx context.Context, _ int) (env.Env, error) { return host.Open(ctx, cfg) }
}

// random draws one of the available actions.
type random struct{}

func (random) Version() uint64 { return 0 }

func (random) Act(ctx context.Context, obs []policy.Observation, decisions []policy.Decision) error {
	for i, o := range obs {
		n := 0
		for a, ok := range o.Mask {
			if ok == 0 {
				continue
			}
			// The k-th available action replaces the choice so far once in k.
			if n++; o.Seed.Child(uint64(a)).Uniform()*float64(n) < 1 {
				decisions[i].Action = rl.Action{Kind: rl.ActionChoice, Choice: a}
			}
		}
	}
	return ctx.Err()
}

// Promise: over a real plug-in, the result is the same with one process or
// two, few slots or many, and when processes are killed in the middle.
func TestPluginIsKilled(t *testing.T) {
	testneeds.NotShort(t)
	collect := func(parallel, slots int, onProgress func(rollout.Progress)) (string, rollout.Stats) {
		cfg := rollout.DefaultConfig()
		cfg.Groups, cfg.Members, cfg.Parallel = 12, 4, parallel
		c, err := rollout.New(cfg, sokoban(t, slots), random{})
		require.NoError(t, err)
		defer c.Close()
		groups, stats, err := c.Collect(t.Context(), rollout.Plan{Seed: 5}, onProgress)
		require.NoError(t, err)
		data, err := json.Marshal(groups)
		require.NoError(t, err)
		return string(data), stats
	}
	one, stats := collect(1, 64, nil)
	require.Zero(t, stats.Restarts)
	require.Equal(t, 48, stats.Episodes)
	killed := 0
	two, stats := collect(2, 5, func(p rollout.Progress) {
		if p.Episodes == 3 || p.Episodes == 20 {
			killed += killChildren(t)
		}
	})
	require.Positive(t, killed)
	require.Positive(t, stats.Restarts)
	require.Equal(t, one, two)
}

// killChildren kills this process's plug-ins and returns how many there were.
func killChildren(t *testing.T) (killed int) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that is gone
		}
		for _, field := range strings.Fields(string(data)) {
			pid, err := strconv.Atoi(field)
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			switch { // not by require: this is a goroutine of the collector's
			case err == nil:
				killed++
			case !errors.Is(err, syscall.ESRCH): // it has ended since the list was read, as its guard does with it
				t.Error(err)
			}
		}
	}
	return killed
}

// BenchmarkPlugin measures rollouts of Sokoban over the plug-in with a policy
// that costs next to nothing: steps/s.
func BenchmarkPlugin(b *testing.B) {
	for _, slots := range []int{1, 64} {
		for _, parallel := range []int{1, 2} {
			b.Run(fmt.Sprintf("slots=%d/parallel=%d", slots, parallel), func(b *testing.B) {
				cfg := rollout.DefaultConfig()
				cfg.Parallel = parallel
				c, err := rollout.New(cfg, sokoban(b, slots), random{})
				require.NoError(b, err)
				defer c.Close()
				_, _, err = c.Collect(b.Context(), rollout.Plan{}, nil) // starts the processes
				require.NoError(b, err)
				steps, n := 0, 0
				for b.Loop() {
					n++
					_, stats, err := c.Collect(b.Context(), rollout.Plan{Seed: rl.Seed(n)}, nil)
					require.NoError(b, err)
					steps += stats.Steps
				}
				b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}
