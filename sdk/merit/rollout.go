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
	// and OpenPlayer are errors with it: nobody else has it.
	Policy policy.Policy
	// OpenPlayer, if it is set, says who plays in the place of this process, as in
	// TrainOptions. It changes no byte of the trajectories.
	OpenPlayer train.OpenPlayer
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
	// Judges is what the judges of this process were asked since they were opened,
	// and what that cost, by the names of their parts.
	Judges map[string]reward.Asked `json:"judges,omitempty"`
	// Player is who played; the zero value for a policy of the program.
	Player run.Player `json:"-"`

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
	if err := o.check(); err != nil {
		return nil, err
	}
	cfg := s.Config.Rollout
	if o.Groups == 0 {
		o.Groups = cfg.Groups
	}
	pipeline := credit.Pipeline{Rewards: reward.NewPool(s.Parts, cfg.Parallel), Align: s.Config.Align, Advantage: &s.Config.Advantage}
	player, who, release, err := s.whoPlays(ctx, o, &pipeline)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	r = &Rollout{Player: who, Stops: map[string]int{}, Outcomes: map[string]int{}}
	for first := 0; first < o.Groups; first += cfg.Groups {
		plan := rollout.Plan{
			Seed: rl.Seed(s.Config.Seed).Child(credit.SeedRollout), FirstGroup: first,
			Groups: min(cfg.Groups, o.Groups-first), Members: cfg.Members, Prefix: o.Split + "-", Greedy: o.Greedy,
		}
		played, err := player.Play(ctx, plan, func(p rollout.Progress) {
			s.options.progress.Collecting(RolloutProgress, first*cfg.Members+p.Episodes, o.Groups*cfg.Members)
		})
		if err != nil {
			return nil, err
		}
		if err := r.credit(&pipeline, played.Scored, write); err != nil {
			return nil, err
		}
	}
	r.Judges = s.JudgeTotals()
	return r, nil
}

// check holds the options to each other.
func (o RolloutOptions) check() error {
	switch {
	case !slices.Contains(train.Splits(), o.Split):
		return misuse(fmt.Sprintf("%q is not a split", o.Split), "use train, validation or test")
	case o.Policy != nil && o.Checkpoint != "":
		return misuse("a policy of the program plays, and a checkpoint was asked for", "set one of RolloutOptions.Policy and Checkpoint")
	case o.Policy != nil && o.OpenPlayer != nil:
		return unsendable("the policy")
	case o.Groups < 0:
		return misuse(fmt.Sprintf("%d groups cannot be played", o.Groups), "ask for 1 or more, or 0 for rollout.groups")
	}
	return nil
}

// whoPlays opens who plays a rollout: its policy, in this process or elsewhere.
// Release closes both.
func (s *Session) whoPlays(ctx context.Context, o RolloutOptions, scoring *credit.Pipeline) (player train.Player, who run.Player, release func() error, err error) {
	open := func(ctx context.Context, worker int) (env.Env, error) { return s.OpenEnv(ctx, o.Split, worker) }
	if o.Policy != nil {
		player, err = train.LocalPlayer(s.Config.rollout(), open, o.Policy, scoring, s.options.log)
		if err != nil {
			return nil, who, nil, err
		}
		return player, who, player.Close, nil
	}
	p, who, err := s.player(ctx, o.Checkpoint)
	if err != nil {
		return nil, who, nil, err
	}
	if o.OpenPlayer != nil {
		player, err = o.OpenPlayer(ctx, o.Split, p)
	} else {
		player, err = train.LocalPlayer(s.Config.rollout(), open, p, scoring, s.options.log)
	}
	if err != nil {
		return nil, who, nil, errors.Join(err, p.Close())
	}
	return player, who, func() error { return errors.Join(player.Close(), p.Close()) }, nil
}

// credit assigns credit to what was played and writes the trajectories.
func (r *Rollout) credit(p *credit.Pipeline, played credit.Scored, write func(*rl.Trajectory) error) error {
	batch, err := p.Assign(played)
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
