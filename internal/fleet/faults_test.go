package fleet_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/sdk/merit"
)

// none scores nothing.
type none struct{}

func (none) Info() reward.Info { return reward.Info{Name: "none"} }

func (none) Evaluate(context.Context, *rl.Trajectory) reward.Evaluation {
	return reward.Evaluation{Outcome: reward.Invalid}
}

// failing makes the handler fail for orders that begin at a group.
func failing(first int) func(queue.Handler) queue.Handler {
	return func(h queue.Handler) queue.Handler {
		return func(ctx context.Context, s queue.Shard) ([]byte, error) {
			o, err := shardcodec.ReadOrder(s)
			if err == nil && (first < 0 || o.Plan.FirstGroup == first) {
				return nil, errors.New("the worker broke down")
			}
			return h(ctx, s)
		}
	}
}

func player(t *testing.T, f queue.Fleet, s *merit.Session) (*fleet.Coordinator, func(rollout.Plan) (int, int, error)) {
	t.Helper()
	c, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{})
	require.NoError(t, err)
	var p policy.Learner
	p, err = s.OpenPlayer(t.Context(), nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	x, err := c.OpenPlayer(t.Context(), "train", p)
	require.NoError(t, err)
	return c, func(plan rollout.Plan) (scored, lost int, err error) {
		last := 0
		got, err := x.Play(t.Context(), plan, func(p rollout.Progress) { last = p.Episodes })
		if err != nil {
			return 0, 0, err
		}
		require.Equal(t, got.Episodes, last)
		require.Len(t, got.Evaluations, got.Total)
		i := 0
		for _, g := range got.Groups {
			for _, tr := range g.Trajectories {
				e := got.Evaluations[i]
				i++
				if tr.StopReason == rl.StopError {
					require.Equal(t, reward.Infrastructure, e.Outcome)
					require.Contains(t, tr.Error, "the worker broke down")
					lost++
					continue
				}
				require.Equal(t, reward.Scored, e.Outcome)
				scored++
			}
		}
		require.Equal(t, lost, got.Failed)
		return scored, lost, nil
	}
}

// Promise: the episodes of a shard that no worker can compute have no score, and never the
// score 0. Other episodes are not affected. If there are no others, the run returns the error.
func TestLostShards(t *testing.T) {
	testneeds.NotShort(t)
	s := open(t, config(t, sokoban))
	c, play := player(t, local(t, 2, failing(4)), s)
	scored, lost, err := play(rollout.Plan{Seed: 5})
	require.NoError(t, err)
	require.Equal(t, []int{32, 16}, []int{scored, lost})
	require.Equal(t, 1, c.Totals().Lost)
	_, play = player(t, local(t, 2, failing(-1)), s)
	_, _, err = play(rollout.Plan{Seed: 5})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Crashed))
	require.ErrorContains(t, err, "all 3 shards failed")
	require.ErrorContains(t, err, "the worker broke down")
}

// Promise: a result that does not fit its order is computed again.
func TestWrongAnswers(t *testing.T) {
	testneeds.NotShort(t)
	var calls atomic.Int32
	f := local(t, 1, func(h queue.Handler) queue.Handler {
		return func(ctx context.Context, s queue.Shard) ([]byte, error) {
			if calls.Add(1) == 2 {
				return []byte("42"), nil
			}
			return h(ctx, s)
		}
	})
	executor := fleet.NewExecutor(fleet.ExecutorOptions{Dir: t.TempDir()})
	t.Cleanup(func() { require.NoError(t, executor.Close()) })
	verified := queue.Verified(f, queue.VerifyOptions{Handlers: executor.Handlers(), Read: fleet.Read})
	c, play := player(t, verified, open(t, config(t, sokoban)))
	scored, lost, err := play(rollout.Plan{Seed: 5})
	require.NoError(t, err)
	require.Equal(t, []int{48, 0}, []int{scored, lost})
	require.Equal(t, fleet.Totals{Shards: 3, Workers: map[string]int{"": 3}}, c.Totals())
	require.Equal(t, 1, verified.Report().Differed)
}
