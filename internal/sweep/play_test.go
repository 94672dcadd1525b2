package sweep_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/sweep"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// coin is an environment of one step: the feature says which action is right.
type coin struct{ side [4]int }

func (*coin) Spec() env.Spec {
	return env.Spec{Name: "coin", Version: "1", Slots: 4, Actions: []string{"0", "1"}, FeatureShape: []int{2}, MaxSteps: 1}
}

func (c *coin) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text, r.Features = make([]string, 4), make([]string, 4), make([]float32, 8)
	r.Reward, r.Flags, r.Mask = make([]float64, 4), make([]env.Flag, 4), []byte{1, 1, 1, 1, 1, 1, 1, 1}
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			c.side[i] = int(b.Seeds[i] % 2)
		case env.Step:
			r.Flags[i] = env.Truncated
			if int(b.Actions[i]) == c.side[i] {
				r.Flags[i], r.Reward[i] = env.Terminated, 1
			}
		}
		r.Features[2*i+c.side[i]] = 1
		r.Anchor[i] = strconv.Itoa(c.side[i])
		r.Text[i] = r.Anchor[i]
	}
	return nil
}

func (*coin) Close() error { return nil }

// right scores an episode that ended well.
type right struct{}

func (right) Info() reward.Info {
	return reward.Info{Name: "right", StepIndexing: reward.ByAssistant}
}

func (right) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	e := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
	if t.StopReason == rl.StopTerminated {
		e.Result.Score = 1
	}
	return e
}

func session(sweep.Run) []merit.Option {
	open := func(context.Context, string, int) (env.Env, error) { return &coin{}, nil }
	return []merit.Option{merit.WithEnvironment(open), merit.WithScorer(right{}, 1)}
}

func plan(t *testing.T, study string) (*sweep.Study, []sweep.Run) {
	t.Helper()
	s, err := sweep.Load(write(t, study))
	require.NoError(t, err)
	p, err := s.Plan()
	require.NoError(t, err)
	return s, p
}

func results(t *testing.T, s *sweep.Study, plan []sweep.Run, dir string) string {
	t.Helper()
	r, err := sweep.Read(s, plan, dir)
	require.NoError(t, err)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	return string(data)
}

// Promise: a study that was stopped goes on where it stood and finds the same
// numbers as one that was not, at any parallelism.
func TestStudyGoesOn(t *testing.T) {
	testneeds.NotShort(t)
	s, p := plan(t, text)
	whole, parts := t.TempDir(), t.TempDir()
	require.NoError(t, sweep.Play(t.Context(), p, sweep.Options{Dir: whole, Session: session}))

	ctx, cancel := context.WithCancel(t.Context())
	err := sweep.Play(ctx, p, sweep.Options{Dir: parts, Parallel: 3, Session: session, Progress: func(st sweep.State) {
		require.Equal(t, 5, st.Total)
		if st.Done == 2 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
	r, err := sweep.Read(s, p, parts)
	require.NoError(t, err)
	require.NotEmpty(t, r.Missing)
	require.NotEqual(t, results(t, s, p, whole), results(t, s, p, parts))

	require.NoError(t, sweep.Play(t.Context(), p, sweep.Options{Dir: parts, Parallel: 2, Session: session}))
	require.Equal(t, results(t, s, p, whole), results(t, s, p, parts))

	var opened atomic.Int64
	require.NoError(t, sweep.Play(t.Context(), p, sweep.Options{Dir: parts, Session: func(r sweep.Run) []merit.Option {
		opened.Add(1)
		return session(r)
	}}))
	require.Zero(t, opened.Load(), "what is finished is not opened again")
}

// Promise: a run that fails names itself, keeps others from being started, and
// the study goes on once the cause is gone; runs of other settings or other
// rewards are not mixed in.
func TestStudyRefuses(t *testing.T) {
	testneeds.NotShort(t)
	s, p := plan(t, text)
	dir := t.TempDir()
	begun := 0
	err := sweep.Play(t.Context(), p, sweep.Options{Dir: dir, Session: func(r sweep.Run) []merit.Option {
		if begun++; begun == 2 {
			return nil // no environment
		}
		return session(r)
	}})
	require.ErrorContains(t, err, "runs/long/grpo/seed-1: ")
	require.ErrorContains(t, err, "the environment has no plug-in")
	require.Equal(t, 2, begun)
	require.NoError(t, sweep.Play(t.Context(), p, sweep.Options{Dir: dir, Session: session}))

	other, err := s.Plan("ppo.entropy=0.5")
	require.NoError(t, err)
	_, err = sweep.Read(s, other, dir)
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
	require.ErrorContains(t, err, "ppo.entropy: changed")

	manifest := filepath.Join(dir, p[4].Name(), "manifest.json")
	data, err := os.ReadFile(manifest)
	require.NoError(t, err)
	var said map[string]any
	require.NoError(t, json.Unmarshal(data, &said))
	said["rewards"] = []any{map[string]any{"name": "wrong"}}
	data, err = json.Marshal(said)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(manifest, data, 0o600))
	_, err = sweep.Read(s, p, dir)
	require.ErrorContains(t, err, "used other environment or reward code")
}

// Promise: the results have the choice that was better on the tuning seeds, and name it; a
// choice that cannot learn loses to one that can.
func TestTuningChooses(t *testing.T) {
	testneeds.NotShort(t)
	s, err := sweep.Load(write(t, `seeds: 1
set: [train.iterations=12, train.evaluate_every=3, train.validation_episodes=64, train.test_episodes=16, rollout.groups=16, rollout.members=4]
tasks: [{name: coin, config: base.yaml}]
settings: [{name: gigpo}, {name: grpo, set: [advantage.estimator=grpo]}]
tune: {seeds: 1, share: 1, choices: [{name: still, set: [ppo.learning_rate=1e-9]}, {name: moving, set: [ppo.learning_rate=2e-2]}]}
`))
	require.NoError(t, err)
	dir := t.TempDir()
	tuning, err := s.Tuning()
	require.NoError(t, err)
	require.NoError(t, sweep.Play(t.Context(), tuning, sweep.Options{Dir: dir, Session: session}))
	chosen, err := s.Choose(tuning, dir)
	require.NoError(t, err)
	plan, err := chosen.Plan()
	require.NoError(t, err)
	require.Len(t, plan, 2)
	for _, r := range plan {
		require.InDelta(t, 2e-2, r.Config.PPO.LearningRate, 0)
	}
	require.NoError(t, sweep.Play(t.Context(), plan, sweep.Options{Dir: dir, Session: session}))
	results, err := sweep.Read(chosen, plan, dir)
	require.NoError(t, err)
	require.Equal(t, []string{"still", "moving"}, results.Choices)
	require.Len(t, results.Tuned, 2)
	for _, row := range results.Tuned {
		require.Equal(t, "moving", row.Choice)
		require.Greater(t, row.Means[1].Mean, row.Means[0].Mean)
	}
}
