// Package align joins what rewards say with the steps of trajectories into the
// rows that estimators read, and writes the credit that they find back into
// the steps. Nothing is shrugged off: a step output that belongs to no step,
// belongs to one twice or is not finite leaves its trajectory unscored, with a
// reason that names the trajectory and the step.
//
// It imports the standard library, core/rl, core/reward, core/advantage and
// core/fault.
package align

import (
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// Config says what a step is worth about which the reward says nothing.
type Config struct {
	// DefaultStepReward is the base reward of every step without a step
	// output.
	DefaultStepReward float64 `yaml:"default_step_reward" json:"default_step_reward"`
	// EnvRewardWeight adds the environment's own reward, times this, to the
	// base reward of each step, and its sum to the episode score.
	EnvRewardWeight float64 `yaml:"env_reward_weight" json:"env_reward_weight"`
	// MaxUnscored is the share of trajectories, 0 … 1, that may be without a
	// score before the run stops.
	MaxUnscored float64 `yaml:"max_unscored" json:"max_unscored"`
}

// DefaultConfig returns the reward alone, and 20 % unscored.
func DefaultConfig() Config { return Config{MaxUnscored: 0.2} }

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	var errs []error
	bad := func(key string, value float64, what, hint string) {
		errs = append(errs, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: key, What: fmt.Sprintf("%v %s", value, what), Hint: hint,
		})
	}
	if !finite(c.DefaultStepReward) {
		bad("default_step_reward", c.DefaultStepReward, "is not finite", "use a number; 0 is the default")
	}
	if !finite(c.EnvRewardWeight) {
		bad("env_reward_weight", c.EnvRewardWeight, "is not finite", "use a number; 0 leaves the environment's reward out")
	}
	if !(c.MaxUnscored >= 0 && c.MaxUnscored <= 1) {
		bad("max_unscored", c.MaxUnscored, "is not a share", "use a number from 0 to 1; 0.2 is the default")
	}
	return errs
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
