package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// killed is an environment whose process is killed as often as deaths says, each time after its
// first episodes.
type killed struct {
	env.Env
	deaths *atomic.Int32
	turns  int
}

func (k *killed) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if k.turns++; k.turns > 20 && k.deaths.Add(-1) >= 0 {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, Where: "sokoban", What: "signal: killed", Hint: "look at its memory"}
	}
	return k.Env.Exchange(ctx, b, r)
}

// troubled is a fleet of one worker that loses its environment's process, and the executor of
// that worker.
func troubled(t *testing.T) (queue.Fleet, *fleet.Executor) {
	executor := fleet.NewExecutor(fleet.ExecutorOptions{Dir: t.TempDir()})
	f := queue.Local(1, executor.Handlers())
	t.Cleanup(func() {
		require.NoError(t, f.Close())
		require.NoError(t, executor.Close())
	})
	return f, executor
}

// Promise: an episode that is lost because of its worker is tried again and leaves no trace.
// Only if every try loses it is it lost, it alone, and results with lost episodes are not used
// to accuse workers.
func TestAWorkersTroubleIsNoResult(t *testing.T) {
	testneeds.Slow(t, "waits for lost shards")
	cfg := config(t, sokoban, "rollout.retries=0", "fleet.groups=12")
	s := open(t, cfg)
	plan := rollout.Plan{Seed: 5, Prefix: "x-"}
	for name, c := range map[string]struct {
		deaths     int32
		lost       bool
		deliveries int
	}{
		"some tries": {queue.MaxTries - 1, false, queue.MaxTries - 1},
		"every try":  {queue.MaxTries + 1, true, queue.MaxTries - 1},
		"no try":     {0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, executor := troubled(t)
			f = queue.Verified(f, queue.VerifyOptions{Share: 1, OnWrongResult: func(string, error) { t.Error("nobody lies") }})
			coordinator, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{})
			require.NoError(t, err)
			left := &atomic.Int32{}
			left.Store(c.deaths)
			executor.Hold(coordinator, open(t, cfg, merit.WithEnvironment(func(ctx context.Context, split string, worker int) (env.Env, error) {
				e, err := s.OpenEnv(ctx, split, worker)
				return &killed{Env: e, deaths: left}, err
			})))
			p, err := s.OpenPlayer(t.Context(), nil, nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			x, err := coordinator.OpenPlayer(t.Context(), "train", p)
			require.NoError(t, err)
			got, err := x.Play(t.Context(), plan, nil)
			require.NoError(t, err)
			require.LessOrEqual(t, left.Load(), int32(0))
			lost := 0
			for _, g := range got.Groups {
				for _, tr := range g.Trajectories {
					if tr.StopReason == rl.StopError {
						require.Contains(t, tr.Error, "signal: killed")
						lost++
					}
				}
			}
			require.Equal(t, c.lost, lost > 0)
			require.Less(t, lost, 48, "the others of the shard are not lost")
			require.Equal(t, c.deliveries, coordinator.Totals().Redeliveries)
		})
	}
}
