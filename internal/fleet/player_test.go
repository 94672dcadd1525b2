package fleet_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/sdk/merit"
)

// Promise: a run played by a fleet writes the same bytes as one played by this process,
// whatever the number of slots and of groups in a shard.
func TestSameBytes(t *testing.T) {
	testneeds.NotShort(t)
	plain, err := play(t.Context(), t, open(t, config(t, sokoban)), nil, merit.TrainOptions{})
	require.NoError(t, err)
	for parallel, groups := range map[int]string{1: "fleet.groups=0", 4: "fleet.groups=1", 2: "fleet.groups=100", 3: "fleet.groups=5"} {
		got, err := play(t.Context(), t, open(t, config(t, sokoban, groups)), local(t, parallel, nil), merit.TrainOptions{})
		require.NoError(t, err)
		if groups != "fleet.groups=0" {
			got["config.yaml"] = plain["config.yaml"] // where the groups of a shard stand
		}
		require.Equal(t, plain, got, groups)
	}
}

// group gives 1 to the shortest of a group.
const group = `
export function rewardGroup(rollouts) {
  const least = Math.min(...rollouts.map((r) => r.messages.length));
  return rollouts.map((r) => (r.messages.length === least ? 1 : 0));
}
`

// Promise: the same holds when groups are resampled, compared by a script, or judged by
// rubrics.
func TestSameBytesOfRewards(t *testing.T) {
	testneeds.Slow(t, "scores the rewards of every language")
	require.NoError(t, os.WriteFile("best.js", []byte(group), 0o644))
	rubric, err := os.ReadFile(filepath.Join(testneeds.Root(), "examples/rubric/train.yaml"))
	require.NoError(t, err)
	for name, c := range map[string]*merit.Config{
		"resampled": config(t, sokoban, "train.resample=2", "train.iterations=2", "environment.options.max_steps=5"),
		"group":     config(t, sokoban, "rewards=[{module: best.js}, {environment: true, weight: 0.5}]", "train.iterations=2"),
		"rubric":    in(t, "examples/rubric", rubric),
	} {
		t.Run(name, func(t *testing.T) {
			plain, err := play(t.Context(), t, open(t, c), nil, merit.TrainOptions{})
			require.NoError(t, err)
			got, err := play(t.Context(), t, open(t, c), local(t, 2, nil), merit.TrainOptions{})
			require.NoError(t, err)
			require.Equal(t, plain, got)
		})
	}
}

func in(t *testing.T, folder string, text []byte) *merit.Config {
	t.Helper()
	cfg, err := merit.ParseConfig("train.yaml", text, filepath.Join(testneeds.Root(), folder),
		"rollout.groups=24", "environment.slots=8", "train.iterations=1", "train.evaluate_every=1", "train.validation_episodes=8", "train.test_episodes=8")
	require.NoError(t, err)
	return cfg
}

// Promise: a run that was stopped can be resumed with or without a fleet, and has the same
// bytes as one that was not stopped.
func TestResumed(t *testing.T) {
	testneeds.NotShort(t)
	plain, err := play(t.Context(), t, open(t, config(t, sokoban)), nil, merit.TrainOptions{})
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	f := local(t, 2, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = play(ctx, t, open(t, config(t, sokoban), merit.WithProgress(&stopAfter{iterations: 1, stop: cancel})), f, merit.TrainOptions{Dir: dir})
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
	ctx, cancel = context.WithCancel(t.Context())
	_, err = play(ctx, t, open(t, config(t, sokoban), merit.WithProgress(&stopAfter{iterations: 2, stop: cancel})), nil, merit.TrainOptions{Dir: dir, Resume: true})
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
	got, err := play(t.Context(), t, open(t, config(t, sokoban)), f, merit.TrainOptions{Dir: dir, Resume: true})
	require.NoError(t, err)
	require.Equal(t, plain, got)
}

// Promise: in-process parts, and a configuration without an environment, are refused before
// anything is sent.
func TestNothingToSend(t *testing.T) {
	testneeds.NotShort(t)
	_, err := fleet.NewCoordinator(local(t, 1, nil), open(t, config(t, sokoban), merit.WithScorer(none{}, 1)), fleet.CoordinatorOptions{})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	require.ErrorContains(t, err, "the scorer none: it is part of this program")
}
