package merit

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/sandbox"
)

// Validate returns all problems of c. Each is a *fault.Error with the boundary
// Config, and its Where is a key path. Problems are values that a stage does
// not allow, and a missing environment or reward. A run that learns from traces
// needs neither.
func (c *Config) Validate() []error {
	played := !c.Traced() // traces already exist, with their rewards
	return c.problems(played, played)
}

// problems is Validate for a session that may bring its own environment or
// reward. It requires only those that the session needs from c.
func (c *Config) problems(environment, reward bool) []error {
	p := fault.Validate(c)
	if environment && c.Environment.Plugin == "" {
		p.Missing("environment.plugin", "the environment has no plug-in", "set it to the name of a plug-in or to a path")
	}
	if reward && len(c.Rewards) == 0 {
		p.Missing("rewards", "there is no reward", "add one: rewards: [{module: reward.wasm}], or [{environment: true}] for the environment's own reward")
	}
	if c.Traced() && c.Train.Resample > 0 {
		p.Invalid("train.resample", "plays groups again, but traces cannot be played", "remove it")
	}
	if c.Traced() && slices.ContainsFunc(c.Rewards, func(r Reward) bool { return r.Environment }) {
		p.Invalid("rewards", "traces have no reward from an environment", "remove environment: true; without rewards, Merit uses the rewards in the traces, and the environment's reward for played episodes")
	}
	if c.Policy.Plugin == "" {
		p.Under("policy", c.Learner.Takes(c.Policy.PolicyConfig))
	}
	if c.Advantage.Estimator == "gae" && c.Policy.Plugin == "" && !c.Policy.ValueHead {
		p.Invalid("advantage.estimator", "gae needs a critic, but the policy has none", "set policy.value_head: true")
	}
	if c.PPO.KLIn == learn.KLInReward && c.Train.SkipZero {
		p.Invalid("train.skip_zero", "leaves out steps, but ppo.kl_in: reward needs the divergence of every step", "remove one of the two")
	}
	if c.Policy.Plugin != "" && c.PPO != learn.DefaultPPOConfig() {
		p.Invalid("ppo", "configures the embedded network, but policy.plugin names another policy", "remove it; configure how a plug-in learns in policy.options")
	}
	if c.Policy.Plugin != "" && c.Learner != learn.DefaultConfig() {
		p.Invalid("learner", "configures the embedded network, but policy.plugin names another policy", "remove it; configure how a plug-in learns in policy.options")
	}
	return p
}

// Validate returns all problems of r, with key paths relative to r.
func (r Reward) Validate() []error {
	p := fault.Validate(&r)
	ref, err := r.Reference()
	if r.Rubric != nil {
		p.Check(r.Judge == nil && !r.Environment, "rubric", "a dual evaluation without a module", "set module to the module that receives both evaluations; set the model that answers the questions of rubrics in rubric.judge")
	}
	if r.Environment {
		p.Check(r.Module == "", "module", r.Module, "split it into two rewards: one is a module, the other has environment: true")
		p.Check(r.Judge == nil, "judge", "a judge together with environment: true", "split it into two rewards: one is a judge, the other has environment: true")
		p.Check(len(r.With) == 0, "with", "parameters for the environment's reward", "remove it: only scripts take parameters; configure an environment in environment.options")
	} else if r.Judge != nil {
		p.Check(r.Module == "", "module", r.Module, "split it into two rewards: one is a module, the other a judge")
		p.Check(len(r.With) == 0, "with", "parameters for a judge", "remove it: only scripts take parameters; configure a judge in judge")
	} else if r.Module == "" {
		p.Missing("module", "the reward has no module", "set it to the path of a .wasm file or a reward.py, or set judge or environment: true instead")
	} else if err != nil {
		f := fault.As(err)
		p.Invalid("module", f.Error(), f.Hint)
	} else if info, err := os.Stat(ref.Path); err != nil {
		p.Missing("module", fmt.Sprintf("the file %s does not exist", ref.Path), "build the reward, or correct the path")
	} else if info.IsDir() && !sandbox.IsScript(ref.Path) {
		p.Invalid("module", ref.Path+" is a folder", "build the reward and set module to the .wasm file; for a script, set it to a folder that contains reward.py or reward.js")
	}
	if math.IsNaN(r.Weight) || math.IsInf(r.Weight, 0) {
		p.Invalid("weight", fmt.Sprintf("%v is not finite", r.Weight), "use a number; 1 is the default")
	}
	return p
}
