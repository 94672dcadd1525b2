package train_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// sampled are settings that draw from 20 tasks.
func sampled(m sampling.Method) train.Settings {
	s := settings()
	s.Train.Sampling.Method, s.Train.Sampling.Tasks = m, 20
	s.Train.Sampling.Window, s.Train.Sampling.Revisit = 8, 3
	return s
}

// Promise: with each method, a run that is stopped and resumed, with resampling, ends with
// the same bytes as one that was not, and at any parallelism.
func TestSampledRunsResume(t *testing.T) {
	testneeds.NotShort(t)
	for _, m := range []sampling.Method{sampling.Random, sampling.Epochs, sampling.Pools} {
		s := sampled(m)
		s.Train.Resample = 1
		whole, path := t.TempDir(), t.TempDir()
		_, err := trainIn(t.Context(), t, whole, s, deps(), false)
		require.NoError(t, err)
		s.Rollout.Parallel = 1
		for _, after := range []int{60, 150, 310} {
			ctx, cancel := context.WithCancel(t.Context())
			d := deps()
			d.Progress = &countdown{after, cancel}
			_, err := trainIn(ctx, t, path, s, d, true)
			require.Error(t, err)
			cancel()
		}
		_, err = trainIn(t.Context(), t, path, s, deps(), true)
		require.NoError(t, err)
		requireSame(t, bytesOf(t, whole), bytesOf(t, path))
	}
}

// Promise: metrics say which tasks there are: with epochs, 6 groups an iteration have played
// 18 of 20 tasks after three, and every task in the fourth; with pools, every task is active
// or rests.
func TestSamplingMetrics(t *testing.T) {
	testneeds.NotShort(t)
	for _, m := range []sampling.Method{sampling.Epochs, sampling.Pools} {
		path := t.TempDir()
		_, err := trainIn(t.Context(), t, path, sampled(m), deps(), false)
		require.NoError(t, err)
		metrics, err := run.ReadMetrics(path)
		require.NoError(t, err)
		require.Nil(t, metrics[0].Sampling)
		if m == sampling.Epochs {
			require.Equal(t, []int{18, 20}, []int{metrics[3].Sampling.Played, metrics[4].Sampling.Played})
		}
		last := metrics[9].Sampling
		require.Equal(t, 54./20, last.Epochs)
		require.Equal(t, m == sampling.Pools, last.Active+last.Solved+last.Unsolved == 20)
		require.InDelta(t, metrics[9].Advantage.ZeroVarianceRate, last.Equal, 1e-9, "nothing was dropped")
	}
}

// Promise: an environment without a list of tasks needs a number, and a run that starts from
// a checkpoint of another begins to sample afresh.
func TestSamplerStarts(t *testing.T) {
	testneeds.NotShort(t)
	s := sampled(sampling.Epochs)
	s.Train.Sampling.Tasks = 0
	_, err := trainIn(t.Context(), t, t.TempDir(), s, deps(), false)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	require.ErrorContains(t, err, "train.sampling.tasks: environment corridor has no fixed list of tasks")

	listed := deps()
	listed.OpenEnv = func(_ context.Context, split string, _ int) (env.Env, error) { return list{newCorridor(split)}, nil }
	first, second := t.TempDir(), t.TempDir()
	_, err = trainIn(t.Context(), t, first, s, listed, false)
	require.NoError(t, err)
	c, err := run.ReadCheckpoint(first, run.Last)
	require.NoError(t, err)
	listed.Start, err = train.StartFrom(c, false)
	require.NoError(t, err)
	_, err = trainIn(t.Context(), t, second, s, listed, false)
	require.NoError(t, err)
	metrics, err := run.ReadMetrics(second)
	require.NoError(t, err)
	require.Equal(t, 6./12, metrics[1].Sampling.Epochs)
	require.Equal(t, 12, metrics[1].Sampling.Tasks)
}

// list is a corridor with 12 tasks.
type list struct{ *corridor }

func (l list) Spec() env.Spec {
	s := l.corridor.Spec()
	s.Tasks = 12
	return s
}

func (l list) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	for i := range b.Seeds {
		b.Seeds[i] %= 12
	}
	return l.corridor.Exchange(ctx, b, r)
}
