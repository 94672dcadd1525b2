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

// Validate returns every problem of c, each a *fault.Error of the boundary
// Config whose Where is a key path: values that a stage does not allow, and
// that there is no environment or no reward, which a run from traces can do
// without.
func (c *Config) Validate() []error {
	played := !c.Traced() // traces are there already, with their rewards
	return c.problems(played, played)
}

// problems is Validate for a session that may have an environment or a reward
// of its own: only those that it needs from c must be there.
func (c *Config) problems(environment, reward bool) []error {
	p := fault.Validate(c)
	if environment && c.Environment.Plugin == "" {
		p.Missing("environment.plugin", "the environment has no plug-in", "give the name of a plug-in, or a path")
	}
	if reward && len(c.Rewards) == 0 {
		p.Missing("rewards", "there is no reward", "add at least one: rewards: [{module: reward.wasm}], or [{environment: true}] for that of the environment")
	}
	if c.Traced() && c.Train.Resample > 0 {
		p.Invalid("train.resample", "plays groups again, and traces are not played", "remove it")
	}
	if c.Traced() && slices.ContainsFunc(c.Rewards, func(r Reward) bool { return r.Environment }) {
		p.Invalid("rewards", "an environment has not rewarded traces", "remove environment: true; without rewards those count that the traces hold, and for episodes that are played the environment's")
	}
	if c.Policy.Plugin == "" {
		p.Under("policy", c.Learner.Takes(c.Policy.PolicyConfig))
	}
	if c.Advantage.Estimator == "gae" && c.Policy.Plugin == "" && !c.Policy.ValueHead {
		p.Invalid("advantage.estimator", "gae needs a critic, and the policy has none", "set policy.value_head: true")
	}
	if c.PPO.KLIn == learn.KLInReward && c.Train.SkipZero {
		p.Invalid("train.skip_zero", "leaves out steps whose divergence ppo.kl_in: reward counts", "remove one of the two")
	}
	if c.Policy.Plugin != "" && c.PPO != learn.DefaultPPOConfig() {
		p.Invalid("ppo", "is for the embedded network, and policy.plugin names another policy", "remove it; how a plug-in learns stands in policy.options")
	}
	if c.Policy.Plugin != "" && c.Learner != learn.DefaultConfig() {
		p.Invalid("learner", "is for the embedded network, and policy.plugin names another policy", "remove it; how a plug-in learns stands in policy.options")
	}
	return p
}

// Validate returns every problem of r, with key paths relative to it.
func (r Reward) Validate() []error {
	p := fault.Validate(&r)
	ref, err := r.Reference()
	if r.Rubric != nil {
		p.Check(r.Judge == nil && !r.Environment, "rubric", "a dual evaluation without a module", "name the module that gets both evaluations; who answers the questions of rubrics stands in rubric.judge")
	}
	if r.Environment {
		p.Check(r.Module == "", "module", r.Module, "a reward is a module or the environment's own: make two of it")
		p.Check(r.Judge == nil, "judge", "a judge beside environment: true", "a reward is a judge or the environment's own: make two of it")
		p.Check(len(r.With) == 0, "with", "parameters for the environment's reward", "they are for scripts: what an environment rewards stands in environment.options")
	} else if r.Judge != nil {
		p.Check(r.Module == "", "module", r.Module, "a reward is a module or a judge: make two of it")
		p.Check(len(r.With) == 0, "with", "parameters for a judge", "they are for scripts: what a judge is told stands in judge")
	} else if r.Module == "" {
		p.Missing("module", "the reward has no module", "give the path of a .wasm file or of a reward.py, or a judge or environment: true in its place")
	} else if err != nil {
		f := fault.As(err)
		p.Invalid("module", f.Error(), f.Hint)
	} else if info, err := os.Stat(ref.Path); err != nil {
		p.Missing("module", fmt.Sprintf("there is no file %s", ref.Path), "build the reward, or correct the path")
	} else if info.IsDir() && !sandbox.IsScript(ref.Path) {
		p.Invalid("module", ref.Path+" is a folder", "build the reward and name the .wasm file; for a script, name its folder")
	}
	if math.IsNaN(r.Weight) || math.IsInf(r.Weight, 0) {
		p.Invalid("weight", fmt.Sprintf("%v is not finite", r.Weight), "use a number; 1 is the default")
	}
	return p
}
