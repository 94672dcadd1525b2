package merit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// RolloutProgress is the phase that a rollout reports to a train.Reporter.
const RolloutProgress = "rollout"

// RolloutOptions configure which policy plays, where, and how many groups.
type RolloutOptions struct {
	// Policy, if set, plays instead of the configuration's policy. It cannot be
	// combined with Checkpoint or OpenPlayer: other machines do not have it.
	Policy policy.Policy
	// OpenPlayer, if set, opens what plays instead of this process, as in
	// TrainOptions. It does not change the trajectories.
	OpenPlayer train.OpenPlayer
	// Checkpoint is one that SplitCheckpoint accepts. If empty, the policy plays
	// with the weights that a run starts with.
	Checkpoint string
	// Greedy makes the policy take the most likely action instead of sampling.
	Greedy bool
	// Split is train (the default), validation or test.
	Split string
	// Groups is how many groups are played; 0 = rollout.groups.
	Groups int
	// Against, if set, plays in the same groups: half of their members, which are not
	// passed to write. Steps get no credit then. It is for rewards that compare.
	Against *Reference
}

// Rollout describes the episodes of a rollout.
type Rollout struct {
	Episodes int            `json:"episodes"` // from the start; Stops, Outcomes and Score are theirs
	Branches int            `json:"branches,omitempty"`
	Steps    int            `json:"steps"` // of both; those that branches share count once
	Stops    map[string]int `json:"stops"`
	Outcomes map[string]int `json:"outcomes"`
	// Score is the mean over the scored episodes; nil if none was scored.
	Score *float64 `json:"mean_score"`
	// Judges counts the requests to the judges of this process since they were
	// opened, and their cost, by the name of the part.
	Judges map[string]reward.Asked `json:"judges,omitempty"`
	// Player describes the policy that played; it is zero for a policy of the
	// program.
	Player run.Player `json:"-"`

	unscored error
}

// Unscored returns an error if a larger share of the episodes than
// align.max_unscored has no score. Like training, it checks each batch of
// rollout.groups separately and joins the errors.
func (r *Rollout) Unscored() error { return r.unscored }

// Rollout plays groups of episodes, scores them, assigns credit and passes each
// trajectory to write, in order. Memory is bounded: at most rollout.groups are
// played at once.
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
	if o.Against != nil {
		return s.versus(ctx, o, write)
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
			Groups: min(cfg.Groups, o.Groups-first), Members: cfg.Members, Prefix: o.Split + "-", Greedy: o.Greedy, Branch: true,
		}
		played, err := player.Play(ctx, plan, func(p rollout.Progress) {
			branches := p.Total - plan.Groups*cfg.Members
			s.options.progress.Collecting(RolloutProgress, first*cfg.Members+p.Episodes, o.Groups*cfg.Members+branches)
		})
		if err != nil {
			return nil, err
		}
		if pipeline.NeedsGreedy() {
			plan.Members, plan.Greedy, plan.Branch, plan.Prefix = 1, true, false, o.Split+"-greedy-"
			greedy, err := player.Play(ctx, plan, nil)
			if err != nil {
				return nil, err
			}
			if err := pipeline.Against(played.Groups, greedy.Scored); err != nil {
				return nil, err
			}
		}
		if err := r.credit(&pipeline, played.Scored, write); err != nil {
			return nil, err
		}
	}
	r.Judges = s.JudgeTotals()
	return r, nil
}

// check returns an error if the options contradict each other.
func (o RolloutOptions) check() error {
	switch {
	case !slices.Contains(train.Splits(), o.Split):
		return misuse(fmt.Sprintf("%q is not a split", o.Split), "use train, validation or test")
	case o.Policy != nil && o.Checkpoint != "":
		return misuse("a policy of the program cannot play from a checkpoint", "set one of RolloutOptions.Policy and Checkpoint")
	case o.Policy != nil && o.OpenPlayer != nil:
		return unsendable("the policy")
	case o.Groups < 0:
		return misuse(fmt.Sprintf("the number of groups is negative: %d", o.Groups), "set Groups to 1 or more, or to 0 for rollout.groups")
	}
	return nil
}

// whoPlays opens the player of a rollout and its policy, in this process or
// elsewhere. release closes both.
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

// credit assigns credit to the played episodes and writes the trajectories.
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
	r.Steps += max(0, len(t.Steps)-t.BranchAt)
	if t.BranchOf != "" {
		r.Branches++
		return
	}
	r.Episodes++
	r.Stops[string(t.StopReason)]++
	r.Outcomes[t.Outcome]++
	if n := r.Outcomes[string(reward.Scored)]; t.Outcome == string(reward.Scored) {
		if r.Score == nil {
			r.Score = new(float64)
		}
		*r.Score += (t.Evaluation.Score - *r.Score) / float64(n)
	}
}
