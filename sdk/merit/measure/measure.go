// Package measure finds out what a policy does before anybody trains: it plays
// starts that are held out and sums up success, return, length and what the
// environment itself measures.
package measure

import (
	"context"
	"errors"
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
	p, player, release, err := whoPlays(ctx, s, o)
	if err != nil {
		return nil, err
	}
	manifest := s.Manifest()
	e := &run.Evaluation{
		Environment: manifest.Plugins[0], Rewards: manifest.Rewards, Player: player, Split: o.Split, Seed: s.Config.Seed, Greedy: o.Greedy,
	}
	m := train.Measurement{Align: s.Config.Align, Train: s.Config.Train}
	_, err = s.Rollout(ctx, merit.RolloutOptions{
		Policy: p, Greedy: o.Greedy, Split: o.Split, Groups: o.Episodes,
	}, func(t *rl.Trajectory) error { m.Add(t); return nil })
	if err := errors.Join(err, release()); err != nil {
		return nil, err
	}
	e.Score, e.Episodes = m.Score()
	return e, nil
}

// Write writes e, with the configuration of s, so that the file says how it can
// be played again.
func Write(path string, s *merit.Session, e *run.Evaluation) error {
	text, err := s.Config.Marshal(filepath.Dir(path))
	if err != nil {
		return err
	}
	e.Config = string(text)
	return run.WriteEvaluation(path, e)
}

// alone is s with one episode from each start: more of them say less than as many
// from others.
func alone(s *merit.Session) *merit.Session {
	one, cfg := *s, *s.Config
	cfg.Rollout.Members = 1
	one.Config = &cfg
	return &one
}

// whoPlays opens the policy that o asks for.
func whoPlays(ctx context.Context, s *merit.Session, o Options) (policy.Policy, run.Player, func() error, error) {
	if o.Policy != nil {
		return o.Policy, o.Player, func() error { return nil }, nil
	}
	var player run.Player
	var checkpoint *run.Checkpoint
	if o.Checkpoint != "" {
		dir, name, err := merit.SplitCheckpoint(o.Checkpoint)
		if err == nil {
			checkpoint, err = run.ReadCheckpoint(dir, name)
		}
		if err != nil {
			return nil, player, nil, err
		}
		player = run.Player{Checkpoint: checkpoint.Digest, From: filepath.ToSlash(o.Checkpoint)}
	}
	p, err := s.OpenPlayer(ctx, nil, checkpoint)
	if err != nil {
		return nil, player, nil, err
	}
	player.Policy = Plugin(s.Config, p)
	return p, player, p.Close, nil
}

// Plugin says who the policy of a plug-in is; nil for the embedded network.
func Plugin(cfg *merit.Config, p policy.Learner) *run.Policy {
	if cfg.Policy.Plugin == "" {
		return nil
	}
	spec := p.Spec()
	return &run.Policy{Plugin: run.Plugin{Name: spec.Name, Version: spec.Version}, Model: spec.Model, Tokenizer: spec.Tokenizer}
}
