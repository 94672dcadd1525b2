// Package measure finds out what a policy does before anybody trains: it plays
// starts that are held out and sums up success, return, length and what the
// environment itself measures.
package measure

import (
	"context"
	"path/filepath"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options say who plays how much.
type Options struct {
	// Policy plays, if it is set, and Player says who that is; Checkpoint must
	// then be empty. It is not closed.
	Policy policy.Policy
	Player run.Player
	// OpenPlayer, if it is set, says who plays in the place of this process, as in
	// merit.RolloutOptions. It changes nothing that is measured.
	OpenPlayer train.OpenPlayer
	// Checkpoint is a run directory, whose best policy plays, or a file in the
	// checkpoints folder of one. Without it the configuration's policy plays,
	// untrained.
	Checkpoint string
	// Greedy asks the policy for the likeliest action instead of sampling.
	Greedy bool
	// Split is train, validation or test.
	Split string
	// Episodes are played, each from a start of its own draw.
	Episodes int
}

// Run plays with the environment and the rewards of s. The starts are a
// function of the seed, the split and the number of episodes, not of who plays.
func Run(ctx context.Context, s *merit.Session, o Options) (*run.Evaluation, error) {
	s = alone(s)
	m := train.Measurement{Align: s.Config.Align, Train: s.Config.Train}
	played, err := s.Rollout(ctx, merit.RolloutOptions{
		Policy: o.Policy, OpenPlayer: o.OpenPlayer, Checkpoint: o.Checkpoint, Greedy: o.Greedy, Split: o.Split, Groups: o.Episodes,
	}, func(t *rl.Trajectory) error { m.Add(t); return nil })
	if err != nil {
		return nil, err
	}
	if o.Policy != nil {
		played.Player = o.Player
	}
	manifest := s.Manifest()
	e := &run.Evaluation{
		Environment: manifest.Plugins[0], Rewards: manifest.Rewards, Player: played.Player, Split: o.Split, Seed: s.Config.Seed, Greedy: o.Greedy,
	}
	e.Score, e.Episodes = m.Score()
	return e, nil
}

// Write writes e with the configuration that it was made by, so that the file says
// how it can be played again.
func Write(path string, cfg *merit.Config, e *run.Evaluation) error {
	text, err := cfg.Marshal(filepath.Dir(path))
	if err != nil {
		return err
	}
	e.Config = string(text)
	return run.WriteEvaluation(path, e)
}

// alone is s with one episode from each start: more of them say less than as many
// from others. As many are played at one time.
func alone(s *merit.Session) *merit.Session {
	one, cfg := *s, *s.Config
	cfg.Rollout.Groups, cfg.Rollout.Members = cfg.Rollout.Groups*cfg.Rollout.Members, 1
	one.Config = &cfg
	return &one
}
