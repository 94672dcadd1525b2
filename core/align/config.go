// Package align joins the results of rewards with the steps of trajectories into
// the rows that estimators read, and writes the resulting credit back into the
// steps. It ignores nothing: if a step output matches no step, matches a step
// twice or is not finite, its trajectory is unscored, with a reason that names the
// trajectory and the step.
package align

import (
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// Config sets the base rewards of steps without a step output.
type Config struct {
	// DefaultStepReward is the base reward of each step for which the reward returns
	// no step output.
	DefaultStepReward float64 `yaml:"default_step_reward" json:"default_step_reward"`
	// StepScores says what the step outputs of the reward are. rewards: the base rewards
	// of steps. deltas: how good the situation is after a step, so that the base reward of
	// a step is the difference from the step before, which begins at 0; they add up to the
	// last one. A step without a step output keeps the score of the step before.
	StepScores string `yaml:"step_scores" json:"step_scores" jsonschema:"enum=rewards,enum=deltas"`
	// EnvRewardWeight is the weight of the environment's reward. Merit adds the
	// weighted reward to the base reward of each step, and the sum over the steps to
	// the episode score.
	EnvRewardWeight float64 `yaml:"env_reward_weight" json:"env_reward_weight"`
	// MaxUnscored is the largest share of trajectories without a score; above it the
	// run stops.
	MaxUnscored float64 `yaml:"max_unscored" json:"max_unscored" jsonschema:"minimum=0,maximum=1"`
}

// DefaultConfig returns the reward alone, and 20 % unscored.
func DefaultConfig() Config { return Config{StepScores: stepRewards, MaxUnscored: 0.2} }

// What step outputs are.
const (
	stepRewards = "rewards"
	stepDeltas  = "deltas"
)

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(finite(c.DefaultStepReward), "default_step_reward", c.DefaultStepReward, "use a finite number; the default is 0")
	p.Check(finite(c.EnvRewardWeight), "env_reward_weight", c.EnvRewardWeight, "use a finite number; 0 leaves out the environment's reward")
	return p
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
