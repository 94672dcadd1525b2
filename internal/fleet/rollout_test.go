package fleet_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/runs/measure"
	"github.com/merit-rl/merit/sdk/merit"
)

// coordinator makes f play for s, or a local fleet if f is nil.
func coordinator(t testing.TB, f queue.Fleet, s *merit.Session) train.OpenPlayer {
	t.Helper()
	if f == nil {
		return nil
	}
	c, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{})
	require.NoError(t, err)
	return c.OpenPlayer
}

// trained returns the directory of a run.
func trained(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	_, err := play(t.Context(), t, open(t, config(t, sokoban)), nil, merit.TrainOptions{Dir: dir})
	require.NoError(t, err)
	return dir
}

// Promise: a rollout played by a fleet has the same bytes as one of this process, for any
// policy and any request.
func TestSameBytesOfRollouts(t *testing.T) {
	testneeds.Slow(t, "plays with models and judges")
	dir := trained(t)
	for name, o := range map[string]merit.RolloutOptions{
		"untrained":      {},
		"the best":       {Checkpoint: dir},
		"a checkpoint":   {Checkpoint: filepath.Join(dir, run.Checkpoints, run.Last), Groups: 5},
		"greedily":       {Checkpoint: dir, Greedy: true, Split: train.SplitTest},
		"in three plans": {Checkpoint: dir, Groups: 29, Split: train.SplitValidation},
	} {
		t.Run(name, func(t *testing.T) {
			all := func(f queue.Fleet) (lines []string, r *merit.Rollout) {
				s := open(t, config(t, sokoban))
				o.OpenPlayer = coordinator(t, f, s)
				r, err := s.Rollout(t.Context(), o, func(e *rl.Trajectory) error {
					line, err := json.Marshal(e)
					lines = append(lines, string(line))
					return err
				})
				require.NoError(t, err)
				return lines, r
			}
			plain, here := all(nil)
			require.NotEmpty(t, plain)
			got, there := all(local(t, 2, nil))
			require.Equal(t, plain, got)
			require.Equal(t, here, there)
		})
	}
}

// Promise: the same holds for the evaluation of a policy, including the name of the policy.
func TestSameMeasurements(t *testing.T) {
	testneeds.NotShort(t)
	dir := trained(t)
	for name, o := range map[string]measure.Options{
		"untrained": {}, "trained": {Checkpoint: dir}, "greedily": {Checkpoint: dir, Greedy: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Split, o.Episodes = train.SplitTest, 70
			s := open(t, config(t, sokoban))
			plain, err := measure.Run(t.Context(), s, o)
			require.NoError(t, err)
			require.Len(t, plain.Episodes, 70)
			require.Equal(t, o.Checkpoint != "", plain.Player.Checkpoint != "")
			o.OpenPlayer = coordinator(t, local(t, 2, nil), s)
			got, err := measure.Run(t.Context(), s, o)
			require.NoError(t, err)
			require.Equal(t, plain, got)
		})
	}
}

// plans is a train.Player that records the plans.
type plans struct {
	train.Player
	all *[]rollout.Plan
}

func (p plans) Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*train.Played, error) {
	*p.all = append(*p.all, plan)
	return p.Player.Play(ctx, plan, onProgress)
}

// Promise: however much is requested, no more is played at once than training would play,
// because that much is held in memory.
func TestRolloutsAreBounded(t *testing.T) {
	testneeds.NotShort(t)
	s := open(t, config(t, sokoban))
	f := coordinator(t, local(t, 2, nil), s)
	var all []rollout.Plan
	noting := func(ctx context.Context, split string, p policy.Learner) (train.Player, error) {
		player, err := f(ctx, split, p)
		return plans{player, &all}, err
	}
	written := 0
	_, err := s.Rollout(t.Context(), merit.RolloutOptions{OpenPlayer: noting, Groups: 30}, func(*rl.Trajectory) error {
		require.Less(t, written, len(all)*12*4) // what was played is written before more is
		written++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 30*4, written)
	for i, p := range all {
		require.Equal(t, []int{i * 12, min(12, 30-i*12), 4}, []int{p.FirstGroup, p.Groups, p.Members})
	}
	all = nil
	_, err = measure.Run(t.Context(), s, measure.Options{OpenPlayer: noting, Split: train.SplitTest, Episodes: 100})
	require.NoError(t, err)
	for i, p := range all {
		require.Equal(t, []int{i * 48, min(48, 100-i*48), 1}, []int{p.FirstGroup, p.Groups, p.Members})
	}
	require.Len(t, all, 3)
}

// still is a policy in this program.
type still struct{}

func (still) Act(_ context.Context, _ []policy.Observation, decisions []policy.Decision) error {
	for i := range decisions {
		decisions[i] = policy.Decision{Action: rl.Action{Text: "up"}}
	}
	return nil
}

func (still) Version() uint64 { return 0 }

// Promise: a policy that workers do not have is refused and never replaced by another.
func TestOwnPolicyIsRefused(t *testing.T) {
	testneeds.NotShort(t)
	s := open(t, config(t, sokoban))
	f := coordinator(t, local(t, 1, nil), s)
	_, err := s.Rollout(t.Context(), merit.RolloutOptions{Policy: still{}, OpenPlayer: f}, nil)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	require.ErrorContains(t, err, "the policy: it is part of this program")
	_, err = measure.Run(t.Context(), s, measure.Options{Policy: still{}, OpenPlayer: f, Split: train.SplitTest, Episodes: 4})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
}
