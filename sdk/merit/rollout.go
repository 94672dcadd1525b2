package merit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/judge"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// RolloutProgress is what a reporter is told to be collecting in a rollout.
const RolloutProgress = "rollout"

// RolloutOptions say who plays what.
type RolloutOptions struct {
	// Policy plays, if it is set, in place of the configuration's. Checkpoint
	// is an error with it.
	Policy policy.Policy
	// Checkpoint is a run directory, whose best policy plays, or a file in the
	// checkpoints folder of one. Without it the untrained policy plays.
	Checkpoint string
	// Greedy asks the policy for the likeliest action instead of sampling.
	Greedy bool
	// Split is train (the default), validation or test.
	Split string
	// Groups is how many groups are played; 0 is rollout.groups.
	Groups int
}

// Rollout describes the episodes of a rollout.
type Rollout struct {
	Episodes int            `json:"episodes"`
	Steps    int            `json:"steps"`
	Stops    map[string]int `json:"stops"`
	Outcomes map[string]int `json:"outcomes"`
	// Score is the mean of the scored episodes; nil if there is none.
	Score *float64 `json:"mean_score"`
	// Judges is what the judges were asked since they were opened, and what that
	// cost, by the names of their parts.
	Judges map[string]judge.Totals `json:"judges,omitempty"`

	unscored error
}

// Unscored returns an error if a larger share of the episodes than
// align.max_unscored has no score: one for each rollout.groups that were played
// together, as training would have said it.
func (r *Rollout) Unscored() error { return r.unscored }

// Rollout plays groups of episodes, scores them, assigns credit and hands each
// trajectory to write, in order. Memory is bounded: rollout.groups are played
// at one time.
func (s *Session) Rollout(ctx context.Context, o RolloutOptions, write func(*rl.Trajectory) error) (r *Rollout, err error) {
	if o.Split == "" {
		o.Split = train.SplitTrain
	}
	if !slices.Contains(train.Splits(), o.Split) {
		return nil, misuse(fmt.Sprintf("%q is not a split", o.Split), "use train, validation or test")
	}
	if o.Policy != nil && o.Checkpoint != "" {
		return nil, misuse("a policy of the program plays, and a checkpoint was asked for", "set one of RolloutOptions.Policy and Checkpoint")
	}
	if o.Groups < 0 {
		return nil, misuse(fmt.Sprintf("%d groups cannot be played", o.Groups), "ask for 1 or more, or 0 for rollout.groups")
	}
	if o.Groups == 0 {
		o.Groups = s.Config.Rollout.Groups
	}
	if o.Policy == nil {
		p, failed := s.player(ctx, o.Checkpoint)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		o.Policy = p
	}
	open := func(ctx context.Context, worker int) (env.Env, error) { return s.OpenEnv(ctx, o.Split, worker) }
	collector, err := rollout.New(s.Config.rollout(), open, o.Policy, rollout.WithLogger(s.options.log))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, collector.Close()) }()
	cfg := s.Config.Rollout
	pipeline := credit.Pipeline{Rewards: reward.NewPool(s.Parts, cfg.Parallel), Align: s.Config.Align, Advantage: &s.Config.Advantage}
	r = &Rollout{Stops: map[string]int{}, Outcomes: map[string]int{}}
	for first := 0; first < o.Groups; first += cfg.Groups {
		plan := rollout.Plan{
			Seed: rl.Seed(s.Config.Seed).Child(credit.SeedRollout), FirstGroup: first,
			Groups: min(cfg.Groups, o.Groups-first), Prefix: o.Split + "-", Greedy: o.Greedy,
		}
		groups, _, err := collector.Collect(ctx, plan, func(p rollout.Progress) {
			s.options.progress.Collecting(RolloutProgress, first*cfg.Members+p.Episodes, o.Groups*cfg.Members)
		})
		if err != nil {
			return nil, err
		}
		if err := r.credit(ctx, &pipeline, groups, write); err != nil {
			return nil, err
		}
	}
	r.Judges = s.JudgeTotals()
	return r, nil
}

// credit scores groups, assigns credit and writes the trajectories.
func (r *Rollout) credit(ctx context.Context, p *credit.Pipeline, groups []*rl.Group, write func(*rl.Trajectory) error) error {
	batch, err := p.Run(ctx, groups)
	if batch == nil {
		return err
	}
	r.unscored = errors.Join(r.unscored, err)
	for _, t := range batch.Trajectories {
		r.add(t)
		if err := write(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rollout) add(t *rl.Trajectory) {
	r.Episodes++
	r.Steps += len(t.Steps)
	r.Stops[string(t.StopReason)]++
	r.Outcomes[t.Outcome]++
	if n := r.Outcomes[string(reward.Scored)]; t.Outcome == string(reward.Scored) {
		if r.Score == nil {
			r.Score = new(float64)
		}
		*r.Score += (t.Evaluation.Score - *r.Score) / float64(n)
	}
}

// SplitCheckpoint returns the run directory and the checkpoint's name that path
// stands for: a run directory, of which the best is meant, or a file in the
// checkpoints folder of one.
func SplitCheckpoint(path string) (dir, name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "check the path"}
	}
	if info.IsDir() {
		return path, run.Best, nil
	}
	folder := filepath.Dir(path)
	if filepath.Base(folder) != run.Checkpoints {
		return "", "", &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: path, What: "is not in the checkpoints folder of a run",
			Hint: "give the run directory, or RUN/" + run.Checkpoints + "/" + run.Last,
		}
	}
	return filepath.Dir(folder), filepath.Base(path), nil
}
