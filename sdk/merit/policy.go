package merit

import (
	"context"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// Policy is who acts and learns.
type Policy struct {
	learn.PolicyConfig `yaml:",inline"`
}

func defaultPolicy() Policy { return Policy{PolicyConfig: learn.DefaultPolicyConfig()} }

// openPolicy says how the policy of the options or, if they have none, of the
// configuration is made.
func (c *Config) openPolicy(o *options) OpenPolicy {
	if o.policy != nil {
		return o.policy
	}
	return c.openNetwork
}

// openNetwork makes the embedded network.
func (c *Config) openNetwork(_ context.Context, spec env.Spec, updates int) (policy.Learner, error) {
	in := learn.Input{Shape: spec.FeatureShape, Actions: spec.Actions}
	seed := rl.Seed(c.Seed).Child(credit.SeedPolicy)
	if updates < 0 {
		return learn.NewAgent(c.Policy.PolicyConfig, nil, in, seed)
	}
	ppo := c.PPO
	if ppo.Schedule.Updates == 0 {
		ppo.Schedule.Updates = max(updates, ppo.Schedule.WarmUp+1)
	}
	return learn.NewAgent(c.Policy.PolicyConfig, &ppo, in, seed)
}

// player makes the policy that a rollout asks for: untrained, or as a
// checkpoint has it.
func (s *Session) player(ctx context.Context, checkpoint string) (policy.Learner, error) {
	p, err := s.Config.openPolicy(&s.options)(ctx, s.spec(), -1)
	if err != nil || checkpoint == "" {
		return p, err
	}
	dir, name, err := SplitCheckpoint(checkpoint)
	if err != nil {
		return nil, err
	}
	c, err := run.ReadCheckpoint(dir, name)
	if err != nil {
		return nil, err
	}
	state, err := train.LearnerState(c)
	if err != nil {
		return nil, err
	}
	return p, p.Load(ctx, state)
}
