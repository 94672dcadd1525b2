package harborcmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sdk/merit"
)

// play lets the policy of a configuration work on each task, in one episode.
func (o *runOptions) play(ctx context.Context, dirs []string) (all []outcome, err error) {
	for _, dir := range dirs {
		t, err := task.Load(dir)
		if err != nil {
			return all, err
		}
		r, err := o.episode(ctx, t)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// config is the configuration with the task as its environment.
func (o *runOptions) config(t *task.Task) (*merit.Config, error) {
	cfg, err := merit.LoadPartial(o.Config, o.Set...)
	if err != nil {
		return nil, err
	}
	options := cfg.Environment.Options
	if cfg.Environment.Harbor == "" {
		options = nil // those of another environment
	}
	cfg.Environment = merit.DefaultConfig().Environment
	cfg.Environment.Harbor, cfg.Environment.Options, cfg.Environment.Slots = t.Dir, options, 1
	cfg.Rewards = []merit.Reward{{Environment: true, Weight: 1}}
	cfg.Rollout.Groups, cfg.Rollout.Members, cfg.Rollout.Action.Parse = 1, 1, action.Chat
	cfg.Align.MaxUnscored = 1 // a trial without a reward is a result
	return cfg, nil
}

// episode plays a task, and writes the trial.
func (o *runOptions) episode(ctx context.Context, t *task.Task) (out outcome, err error) {
	cfg, err := o.config(t)
	if err != nil {
		return out, err
	}
	s, err := merit.Open(ctx, cfg, rewardcmd.Options(o.host, cfg.Sandbox.Limits)...)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := &trial.Result{Agent: cfg.Policy.Plugin, Began: time.Now()}
	var text bytes.Buffer
	_, err = s.Rollout(ctx, merit.RolloutOptions{}, func(tr *rl.Trajectory) error {
		read(r, tr)
		return console.WriteLine(&text, tr)
	})
	if err != nil {
		return out, err
	}
	sum := sha256.Sum256(text.Bytes())
	r.Digest, r.Acted, r.Ended = hex.EncodeToString(sum[:]), time.Now(), time.Now()
	out = outcomeOf(t, r)
	if o.Out == "" {
		return out, nil
	}
	return o.kept(out, r, t, text.Bytes())
}

// kept writes the trial with the episode.
func (o *runOptions) kept(out outcome, r *trial.Result, t *task.Task, episode []byte) (outcome, error) {
	out.Trial = filepath.Join(o.Out, t.Name+"__"+r.Digest[:7])
	if err := os.MkdirAll(filepath.Join(out.Trial, "agent"), 0o755); err != nil {
		return out, console.CannotWrite(err)
	}
	if err := os.WriteFile(filepath.Join(out.Trial, "agent", "episode.jsonl"), episode, 0o644); err != nil {
		return out, console.CannotWrite(err)
	}
	return out, r.Write(out.Trial, t)
}

// read takes the rewards of an episode, or why it has none.
func read(r *trial.Result, t *rl.Trajectory) {
	r.Fuel = uint64(t.Metrics["env_fuel"])
	if t.StopReason == rl.StopError {
		r.Failure = trial.FailureOf(t.Error)
		return
	}
	r.Rewards = map[string]float64{}
	for key, value := range t.Metrics {
		if name, ok := strings.CutPrefix(key, "verifier_"); ok {
			r.Rewards[name] = value
		}
	}
}
