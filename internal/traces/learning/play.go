package learning

import (
	"cmp"
	"context"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/sdk/merit"
)

// Recordings returns the set for a session of cfg.
func (s *Set) Recordings(cfg *merit.Config) merit.Recordings {
	return merit.Recordings{
		About: s.about, Spec: env.Spec{Name: "traces", Version: "1", Actions: s.reader.choices},
		Player: func(split string, p policy.Policy, scoring *credit.Pipeline) train.Player {
			return &player{s, split, p, scoring, rl.Seed(cfg.Seed).Child(credit.SeedTrain), cfg.Rollout}
		},
	}
}

// player is the train.Recorded of a split.
type player struct {
	*Set
	split   string
	policy  policy.Policy
	scoring *credit.Pipeline
	seed    rl.Seed // for all draws
	cfg     rollout.Config
}

// Play implements train.Player. The recorded policy did not act greedily, so a greedy
// policy cannot be measured.
func (p *player) Play(ctx context.Context, plan rollout.Plan, _ func(rollout.Progress)) (*train.Played, error) {
	if plan.Greedy {
		return nil, nil
	}
	if plan.Iteration == 0 {
		return p.estimate(ctx, plan)
	}
	groups, err := p.Draw(ctx, plan.Iteration, p.seed, cmp.Or(plan.Groups, p.cfg.Groups), cmp.Or(plan.Members, p.cfg.Members))
	if err != nil {
		return nil, err
	}
	return p.score(ctx, groups)
}

// estimate returns the held-out traces with weights that estimate the policy's own
// return. Before training the weights are 1, which measures the recorded policy.
func (p *player) estimate(ctx context.Context, plan rollout.Plan) (*train.Played, error) {
	groups, err := p.HeldOut(ctx, p.split, plan.Groups)
	if err != nil {
		return nil, err
	}
	played, err := p.score(ctx, groups)
	if err != nil {
		return nil, err
	}
	all := make([]*rl.Trajectory, len(groups))
	played.Weights = make([]float64, len(groups))
	for i, g := range groups { // of one trajectory each
		all[i], played.Weights[i] = g.Trajectories[0], 1
	}
	if plan.Baseline {
		return played, nil
	}
	played.Least = p.Set.cfg.MinEffective
	if played.Weights, err = p.Weigh(ctx, p.policy, all); played.Weights == nil {
		return nil, err
	}
	return played, err
}

func (p *player) score(ctx context.Context, groups []*rl.Group) (*train.Played, error) {
	var stats rollout.Stats
	for _, g := range groups {
		for _, t := range g.Trajectories {
			stats.Episodes++
			stats.Steps += len(t.Steps)
		}
	}
	return train.ScorePlayed(ctx, p.scoring, groups, stats)
}

// Close implements train.Player. It ends the environment that encodes calls, if it runs;
// the caller owns the store.
func (p *player) Close() error { return p.reader.encoder.close() }
