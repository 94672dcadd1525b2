// Package measure measures a policy before or after training: it plays held-out starts and
// aggregates success, return, length and the environment's own metrics.
package measure

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options says which policy plays, and how much.
type Options struct {
	// Policy plays if it is not nil, and Player names it; Checkpoint must then be empty. Run
	// does not close it.
	Policy policy.Policy
	Player run.Player
	// OpenPlayer, if it is not nil, opens what plays instead of this process, as in
	// merit.RolloutOptions. It does not change the measurement.
	OpenPlayer train.OpenPlayer
	// Checkpoint is a run directory, whose best policy plays, or a file in the checkpoints
	// folder of one. If it is empty, the configuration's policy plays, untrained.
	Checkpoint string
	// Greedy takes the most likely action instead of sampling.
	Greedy bool
	// Split is train, validation or test.
	Split string
	// Episodes is how many episodes are played, and Attempts how many of them from each start;
	// 0 is one. Rewards that compare play half of rollout.members from each start.
	Episodes, Attempts int
	// Against is the reference policy in the groups of a reward that compares; nil is the
	// policy before training. Other rewards ignore it.
	Against *Opponent
}

// Opponent is a reference policy: one that plays, which Player names, or a checkpoint.
type Opponent struct {
	Policy     policy.Policy
	Player     run.Player
	Checkpoint string
}

// Run plays with the environment and the rewards of s. The starts are a function of the seed,
// the split and the number of episodes, not of the policy.
func Run(ctx context.Context, s *merit.Session, o Options) (*run.Evaluation, error) {
	if train.Compares(s.Parts) {
		e, _, err := Versus(ctx, s, o)
		return e, err
	}
	s = repeated(s, max(1, o.Attempts))
	m := train.Measurement{Align: s.Config.Align, Train: s.Config.Train}
	played, err := s.Rollout(ctx, merit.RolloutOptions{
		Policy: o.Policy, OpenPlayer: o.OpenPlayer, Checkpoint: o.Checkpoint, Greedy: o.Greedy, Split: o.Split, Groups: o.Episodes / max(1, o.Attempts),
	}, func(t *rl.Trajectory) error { m.Add(t); return nil })
	if err != nil {
		return nil, err
	}
	if o.Policy != nil {
		played.Player = o.Player
	}
	e := evaluation(s, o, played.Player, m)
	return e, anyScore(e, played)
}

// anyScore returns why no episode has a score, if none has: there is nothing to report then.
func anyScore(e *run.Evaluation, played *merit.Rollout) error {
	if e.Score.Episodes > 0 || len(e.Episodes) == 0 {
		return nil
	}
	if err := played.Unscored(); err != nil {
		return err
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: "reward", What: fmt.Sprintf("none of %d episodes has a score", len(e.Episodes)),
		Hint: "find out why the reward returns no score",
	}
}

// evaluation returns the evaluation of who played what m measured.
func evaluation(s *merit.Session, o Options, who run.Player, m train.Measurement) *run.Evaluation {
	manifest := s.Manifest()
	e := &run.Evaluation{
		Environment: manifest.Plugins[0], Rewards: manifest.Rewards, Player: who, Split: o.Split, Seed: s.Config.Seed, Greedy: o.Greedy,
	}
	e.Score, e.Episodes = m.Score()
	return e
}

// Versus measures by a reward that compares, as Run does, and returns the evaluations of
// the policy and of the reference. Each start has half a group of episodes of each, so
// there are fewer starts than episodes.
func Versus(ctx context.Context, s *merit.Session, o Options) (e, reference *run.Evaluation, err error) {
	m := train.Measurement{Align: s.Config.Align, Train: s.Config.Train}
	other := m
	if o.Against == nil {
		o.Against = new(Opponent)
	}
	against := &merit.Reference{
		Policy: o.Against.Policy, Checkpoint: o.Against.Checkpoint, Write: func(t *rl.Trajectory) error { other.Add(t); return nil },
	}
	played, err := s.Rollout(ctx, merit.RolloutOptions{
		Policy: o.Policy, OpenPlayer: o.OpenPlayer, Checkpoint: o.Checkpoint, Greedy: o.Greedy, Split: o.Split,
		Groups: train.PlanVersus(s.Config.Rollout.Members, o.Episodes).Starts, Against: against,
	}, func(t *rl.Trajectory) error { m.Add(t); return nil })
	if err != nil {
		return nil, nil, err
	}
	who, rival := played.Player, against.Player
	if o.Policy != nil {
		who = o.Player
	}
	if o.Against.Policy != nil {
		rival = o.Against.Player
	}
	e, reference = evaluation(s, o, who, m), evaluation(s, o, rival, other)
	e.Against = &rival
	return e, reference, anyScore(e, played)
}

// Write writes e with the configuration that produced it, so that the file says how to repeat
// the measurement.
func Write(path string, cfg *merit.Config, e *run.Evaluation) error {
	text, err := cfg.Marshal(filepath.Dir(path))
	if err != nil {
		return err
	}
	e.Config = string(text)
	return run.WriteEvaluation(path, e)
}

// repeated returns s with a number of episodes per start: one, unless attempts are compared,
// since repeated starts are less informative than new ones. The number of concurrent episodes
// stays about the same.
func repeated(s *merit.Session, attempts int) *merit.Session {
	one, cfg := *s, *s.Config
	cfg.Rollout.Groups, cfg.Rollout.Members = max(1, cfg.Rollout.Groups*cfg.Rollout.Members/attempts), attempts
	one.Config = &cfg
	return &one
}
