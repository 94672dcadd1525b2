package train_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// remaxed has one episode a start and learns with remax.
func remaxed() train.Settings {
	s := settings()
	s.Advantage.Estimator, s.Rollout.Groups, s.Rollout.Members = "remax", 24, 1
	s.Save.Every = 1
	return s
}

// Promise: with remax, each start is played once more, greedily. Every member has the score of
// that episode as its baseline; the episode itself is not among those that are learned from or
// kept, its steps count as played, and the bytes are the same at any parallelism.
func TestReMax(t *testing.T) {
	testneeds.NotShort(t)
	var runs []map[string]string
	for _, parallel := range []int{1, 3} {
		s, path := remaxed(), t.TempDir()
		s.Rollout.Parallel = parallel
		_, err := trainIn(t.Context(), t, path, s, deps(), false)
		require.NoError(t, err)
		runs = append(runs, bytesOf(t, path))
		metrics, err := run.ReadMetrics(path)
		require.NoError(t, err)
		steps, differ := 0, 0
		for _, it := range metrics[1:] {
			require.Equal(t, 24, it.Rollout.Episodes)
			require.Zero(t, it.Rollout.Discarded)
			steps += it.Rollout.Steps
		}
		require.Greater(t, metrics[len(metrics)-1].EnvSteps, uint64(steps))
		kept := 0
		for e, err := range jsonl.Trajectories(filepath.Join(path, run.Trajectories, run.TrainTrajectories)) {
			require.NoError(t, err)
			kept++
			require.Equal(t, string(reward.Scored), e.GreedyOutcome)
			require.Equal(t, e.Evaluation.Score-*e.GreedyScore, e.Steps[0].Credit.Advantage)
			if e.Steps[0].Credit.Advantage != 0 {
				differ++
			}
		}
		require.Equal(t, 24*(len(metrics)-1), kept)
		require.NotZero(t, differ)
	}
	requireSame(t, runs[0], runs[1])
}

// fussy gives greedy episodes no score.
type fussy struct{ arrived }

func (f fussy) Evaluate(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
	if len(t.ID) > 6 && t.ID[:6] == "greedy" {
		return reward.Evaluation{Outcome: reward.Trap, Reason: "unreachable"}
	}
	return f.arrived.Evaluate(ctx, t)
}

// Promise: a run whose greedy episodes have no score stops and says so; it does not learn
// against a baseline of 0.
func TestReMaxWithoutBaseline(t *testing.T) {
	d := deps()
	d.Rewards = []reward.Weighted{{Scorer: fussy{}, Weight: 1}}
	_, err := trainIn(t.Context(), t, t.TempDir(), remaxed(), d, false)
	require.ErrorContains(t, err, "greedy-1-g0-m0: trap (unreachable)")
}
