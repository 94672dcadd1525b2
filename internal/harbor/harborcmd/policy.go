package harborcmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/interchange"
	"github.com/merit-rl/merit/internal/harbor/gym"
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
	var episode *rl.Trajectory
	ctx = gym.Observed(ctx, func(step trial.Step) { r.Steps, r.Acted = append(r.Steps, step), time.Now() })
	_, err = s.Rollout(ctx, merit.RolloutOptions{}, func(tr *rl.Trajectory) error {
		episode = tr
		return nil
	})
	if err != nil {
		return out, err
	}
	r.Acted, r.Ended = cmp.Or(r.Acted, time.Now()), time.Now()
	line, err := json.Marshal(episode)
	if err != nil {
		return out, err
	}
	sum := sha256.Sum256(line)
	r.Digest = hex.EncodeToString(sum[:])
	read(r, episode)
	if out = outcomeOf(t, r); o.Out == "" {
		return out, nil
	}
	return o.kept(out, r, t, episode)
}

// kept writes the trial with the episode: as Harbor's ATIF, and as Merit's commands read it.
func (o *runOptions) kept(out outcome, r *trial.Result, t *task.Task, episode *rl.Trajectory) (outcome, error) {
	out.Trial = filepath.Join(o.Out, t.Name+"__"+r.Digest[:7])
	docs, err := interchange.WriteATIF(episode)
	if err != nil {
		return out, err
	}
	var line bytes.Buffer
	if err := console.WriteLine(&line, episode); err != nil {
		return out, err
	}
	for _, d := range append(docs, interchange.Document{Path: "episode.jsonl", Text: line.Bytes()}) {
		at := filepath.Join(out.Trial, "agent", filepath.FromSlash(cmp.Or(d.Path, "trajectory.json")))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return out, console.CannotWrite(err)
		}
		if err := os.WriteFile(at, d.Text, 0o644); err != nil {
			return out, console.CannotWrite(err)
		}
	}
	return out, r.Write(out.Trial, t)
}

// read takes the rewards of an episode, or why it has none.
func read(r *trial.Result, t *rl.Trajectory) {
	r.Flags = trial.FlagsOf(r.Steps)
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
