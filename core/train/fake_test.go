package train_test

import (
	"context"
	"fmt"
	"github.com/merit-rl/merit/internal/report"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// corridor is a small environment: walk to the goal on a line of cells. An
// episode's start is a function of the split and the seed.
type corridor struct {
	split uint64
	at    []int
	goal  []int
	steps []int
}

const (
	cells    = 9
	maxSteps = 8
	slots    = 8
)

func newCorridor(split string) *corridor {
	return &corridor{split: uint64(len(split)), at: make([]int, slots), goal: make([]int, slots), steps: make([]int, slots)}
}

func (c *corridor) Spec() env.Spec {
	return env.Spec{
		Name: "corridor", Version: "1", Slots: slots, Actions: []string{"left", "stay", "right"},
		FeatureShape: []int{2 * cells}, MaxSteps: maxSteps, System: "Walk to the goal.",
	}
}

func (c *corridor) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text = make([]string, slots), make([]string, slots)
	r.Features, r.Mask = make([]float32, slots*2*cells), nil
	r.Reward, r.Flags, r.Events = make([]float64, slots), make([]env.Flag, slots), nil
	for i, op := range b.Ops {
		switch op {
		case env.Reset:
			s := rl.Seed(b.Seeds[i]).Child(c.split)
			c.at[i], c.goal[i], c.steps[i] = int(s.Uniform()*cells), int(s.Child(1).Uniform()*cells), 0
			if c.at[i] == c.goal[i] {
				c.goal[i] = (c.goal[i] + 4) % cells
			}
		case env.Step:
			c.at[i] = max(0, min(cells-1, c.at[i]+int(b.Actions[i])-1))
			c.steps[i]++
		default:
			continue
		}
		r.Text[i] = strings.Repeat(".", c.at[i]) + "@" + strings.Repeat(".", cells-1-c.at[i]) + fmt.Sprintf(" goal %d", c.goal[i])
		r.Anchor[i] = r.Text[i]
		r.Features[i*2*cells+c.goal[i]-c.at[i]+cells] = 1
		switch {
		case c.at[i] == c.goal[i]:
			r.Flags[i] = env.Terminated
		case c.steps[i] == maxSteps:
			r.Flags[i] = env.Truncated
		}
	}
	r.Mask = []byte(strings.Repeat("\x01", slots*3))
	return nil
}

func (c *corridor) Close() error { return nil }

// arrived scores 1 for an episode that ended at the goal, and measures how far it
// was: only where it arrived is that valid.
type arrived struct {
	fail func(t *rl.Trajectory) bool
}

func (arrived) Info() reward.Info {
	return reward.Info{Name: "arrived", Digest: "sha256:00", ABI: "none"}
}

func (a arrived) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	if a.fail != nil && a.fail(t) {
		return reward.Evaluation{Outcome: reward.Trap, Reason: "unreachable executed"}
	}
	e := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
	if t.StopReason == rl.StopTerminated {
		e.Result.Score = 1
	}
	e.Result.Metrics = rl.Metrics{{Name: "way", Score: float64(len(t.Steps)), IsScoreValid: e.Result.Score == 1}}
	return e
}

func settings() train.Settings {
	s := train.Settings{
		Seed: 3, Rollout: rollout.DefaultConfig(), Align: align.DefaultConfig(), Advantage: advantage.Default(),
		Train: train.DefaultConfig(),
		Save:  run.SaveConfig{Every: 50, Failed: true, Best: 1, Worst: 1},
	}
	s.Rollout.Groups, s.Rollout.Members, s.Rollout.Parallel = 6, 4, 2
	s.Train.Iterations, s.Train.EvaluateEvery, s.Train.CheckpointEvery = 9, 4, 2
	s.Train.ValidationEpisodes, s.Train.TestEpisodes = 40, 60
	return s
}

// network opens a small embedded network.
func network(change func(*learn.PPOConfig)) func(context.Context, env.Spec, int) (policy.Learner, error) {
	cfg, ppo := learn.DefaultPolicyConfig(), learn.DefaultPPOConfig()
	cfg.Hidden, cfg.InitFanIn = []int{16}, 2
	ppo.Minibatch, ppo.LearningRate, ppo.Entropy, ppo.AdvantageScale = 64, 0.01, 0.03, learn.ScaleRMS
	if change != nil {
		change(&ppo)
	}
	return func(_ context.Context, spec env.Spec, updates int) (policy.Learner, error) {
		in := learn.Input{Shape: spec.FeatureShape, Actions: spec.Actions}
		return learn.NewAgent(cfg, learn.DefaultConfig(), &ppo, in, rl.Seed(3).Child(credit.SeedPolicy))
	}
}

func deps() train.Deps {
	return train.Deps{
		OpenPolicy: network(nil),
		OpenEnv:    func(_ context.Context, split string, _ int) (env.Env, error) { return newCorridor(split), nil },
		Rewards:    []reward.Weighted{{Scorer: arrived{}, Weight: 1}},
		Report:     report.Make,
		Log:        slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

func openDir(path string, resume bool) (*run.Dir, error) {
	m := run.NewManifest("test", 3)
	m.Rewards = []run.Module{{Name: "arrived", Digest: "sha256:00", ABI: "none", Weight: 1}}
	return run.Start(path, run.Options{Config: []byte("seed: 3\n"), Manifest: m, Resume: resume})
}

// trainIn runs in path and returns what Run returned.
func trainIn(ctx context.Context, t *testing.T, path string, s train.Settings, d train.Deps, resume bool) (*run.Summary, error) {
	t.Helper()
	dir, err := openDir(path, resume)
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.Close()) }()
	return train.Run(ctx, s, d, dir)
}

// bytesOf returns every file of a run that must not depend on the wall clock,
// with time fields removed.
func bytesOf(t *testing.T, path string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(path, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(path, file)
		require.NoError(t, err)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		switch name {
		case run.ReportFile, run.ManifestFile, run.DigestsFile: // times are in them
			files[name] = "present"
		case run.MetricsFile, run.SummaryFile:
			files[name] = withoutTime(t, name, data)
		default:
			files[name] = string(data)
		}
		return nil
	}))
	return files
}
