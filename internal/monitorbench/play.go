package monitorbench

import (
	"context"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

const (
	iterations         = 100
	evaluateEvery      = 2
	validationEpisodes = 40
)

// judge scores the episodes of a run, and notes the true metric of each validation, which no metric of
// the run has. All validations of a run have the same tasks.
type judge struct {
	setting
	mu          sync.Mutex
	validations []meter
}

// meter is a mean, whose sum does not depend on the order.
type meter struct{ sum, n int64 }

// scale makes whole numbers of the values of a meter.
const scale = 1 << 32

func (m *meter) add(x float64) { m.sum, m.n = m.sum+int64(math.Round(x*scale)), m.n+1 }
func (m meter) mean() float64  { return float64(m.sum) / scale / float64(max(1, m.n)) }

// Info implements reward.Scorer.
func (*judge) Info() reward.Info {
	return reward.Info{Name: "monitorbench", Digest: "builtin:monitorbench", ABI: "builtin"}
}

// Evaluate implements reward.Scorer.
func (j *judge) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	j.note(t)
	return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true, Score: j.score(t)}}
}

// note adds the true metric of an episode to those of its validation.
func (j *judge) note(t *rl.Trajectory) {
	if !strings.HasPrefix(t.ID, train.SplitValidation) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.validations); n == 0 || j.validations[n-1].n == validationEpisodes {
		j.validations = append(j.validations, meter{})
	}
	j.validations[len(j.validations)-1].add(j.truth(t))
}

// truths returns the true metric of every validation, the first one before training.
func (j *judge) truths() (out []float64) {
	for _, m := range j.validations {
		out = append(out, m.mean())
	}
	return out
}

// Play trains one run of the family by the loop of core/train, in a folder that it removes.
func (f *Family) Play(ctx context.Context, seed uint64) (*Recording, error) {
	path, err := os.MkdirTemp(fastest(), "merit-monitorbench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(path)
	dir, err := run.Start(path, run.Options{Manifest: run.NewManifest("monitorbench", seed)})
	if err != nil {
		return nil, err
	}
	j := &judge{setting: f.setting(seed)}
	_, err = train.Run(ctx, j.settings(seed), train.Deps{
		OpenEnv: func(_ context.Context, split string, _ int) (env.Env, error) {
			return &arena{world: j.world, split: split}, nil
		},
		OpenPolicy: func(context.Context, env.Spec, int) (policy.Learner, error) { return j.policy, nil },
		Rewards:    []reward.Weighted{{Scorer: j, Weight: 1}},
	}, dir)
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	lines, err := run.ReadMetrics(path)
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return record(f, seed, lines, j.truths()), dir.Close()
}

// fastest is a folder in memory if there is one: a run writes much and keeps nothing.
func fastest() string {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return ""
}

// settings are those of a run: a small one, and otherwise the defaults.
func (j *judge) settings(seed uint64) train.Settings {
	s := train.Settings{
		Seed: seed + 1, Rollout: rollout.DefaultConfig(), Align: align.DefaultConfig(), Advantage: advantage.Default(), Train: train.DefaultConfig(),
		Monitor: monitor.Config{Off: []string{"all"}, Swaps: monitor.Default().Swaps}, // they look at the recording
	}
	s.Advantage.Estimator = "grpo"
	s.Rollout.Groups, s.Rollout.Members, s.Rollout.Parallel = j.groups, j.members, 1
	s.Train.Iterations, s.Train.EvaluateEvery, s.Train.CheckpointEvery = iterations, evaluateEvery, iterations
	s.Train.ValidationEpisodes, s.Train.TestEpisodes, s.Train.Patience = validationEpisodes, 1, 0
	return s
}
