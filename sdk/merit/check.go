package merit

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/train"
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
	var p fault.Problems
	h, err := c.Environment.Host(train.SplitTrain)
	if err != nil {
		p.Invalid("environment.options", err.Error(), "use text, numbers, lists and sections with text keys")
	} else {
		p = under(p, "environment", h.Validate())
	}
	p = under(p, "plugins", c.Plugins.Validate())
	if environment && c.Environment.Plugin == "" {
		p.Missing("environment.plugin", "the environment has no plug-in", "give the name of a plug-in, or a path")
	}
	if reward && len(c.Rewards) == 0 {
		p.Missing("rewards", "there is no reward", "add at least one: rewards: [{module: reward.wasm}], or [{environment: true}] for that of the environment")
	}
	p = rewardProblems(p, c.Rewards)
	p = under(p, "sandbox", c.Sandbox.Validate())
	p = under(p, "rollout", c.Rollout.Validate())
	p = under(p, "align", c.Align.Validate())
	p = under(p, "advantage", c.Advantage.Validate())
	p = sectionProblems(p, keyTraces, c.Traces)
	if c.Traced() && c.Train.Resample > 0 {
		p.Invalid("train.resample", "plays groups again, and traces are not played", "remove it")
	}
	if c.Traced() && slices.ContainsFunc(c.Rewards, func(r Reward) bool { return r.Environment }) {
		p.Invalid("rewards", "an environment has not rewarded traces", "remove environment: true; without rewards those count that the traces hold, and for episodes that are played the environment's")
	}
	p = under(p, "policy", c.Policy.Validate())
	p = under(p, "learner", c.Learner.Validate())
	if c.Policy.Plugin == "" {
		p = under(p, "policy", c.Learner.Takes(c.Policy.PolicyConfig))
	}
	p = under(p, "ppo", c.PPO.Validate())
	p = under(p, "train", c.Train.Validate())
	p = under(p, "monitor", c.Monitor.Validate())
	p = under(p, "evidence", c.Evidence.Validate())
	p = under(p, "save", c.Save.Validate())
	p = sectionProblems(p, keyFleet, c.Fleet)
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

// CheckRewards returns every problem of a list of rewards, with key paths below
// rewards, for other configurations than Config that have one.
func CheckRewards(list []Reward) []error { return rewardProblems(nil, list) }

func rewardProblems(p fault.Problems, rewards []Reward) fault.Problems {
	for i, r := range rewards {
		at := fmt.Sprintf("rewards[%d]", i)
		ref, err := r.Reference()
		if r.Rubric != nil {
			p = under(p, at+".rubric", r.Rubric.Validate())
			p.Check(r.Judge == nil && !r.Environment, at+".rubric", "a dual evaluation without a module", "name the module that gets both evaluations; who answers the questions of rubrics stands in rubric.judge")
		}
		if r.Environment {
			p.Check(r.Module == "", at+".module", r.Module, "a reward is a module or the environment's own: make two of it")
			p.Check(r.Judge == nil, at+".judge", "a judge beside environment: true", "a reward is a judge or the environment's own: make two of it")
			p.Check(len(r.With) == 0, at+".with", "parameters for the environment's reward", "they are for scripts: what an environment rewards stands in environment.options")
		} else if r.Judge != nil {
			p = under(p, at+".judge", r.Judge.Validate())
			p.Check(r.Module == "", at+".module", r.Module, "a reward is a module or a judge: make two of it")
			p.Check(len(r.With) == 0, at+".with", "parameters for a judge", "they are for scripts: what a judge is told stands in judge")
		} else if r.Module == "" {
			p.Missing(at+".module", "the reward has no module", "give the path of a .wasm file or of a reward.py, or a judge or environment: true in its place")
		} else if err != nil {
			f := fault.As(err)
			p.Invalid(at+".module", f.Error(), f.Hint)
		} else if info, err := os.Stat(ref.Path); err != nil {
			p.Missing(at+".module", fmt.Sprintf("there is no file %s", ref.Path), "build the reward, or correct the path")
		} else if info.IsDir() && !sandbox.IsScript(ref.Path) {
			p.Invalid(at+".module", ref.Path+" is a folder", "build the reward and name the .wasm file; for a script, name its folder")
		}
		if math.IsNaN(r.Weight) || math.IsInf(r.Weight, 0) {
			p.Invalid(at+".weight", fmt.Sprintf("%v is not finite", r.Weight), "use a number; 1 is the default")
		}
	}
	return p
}

// sectionProblems adds the problems of the section at key, if there is one.
func sectionProblems(p fault.Problems, key string, s Section) fault.Problems {
	if s == nil {
		return p
	}
	return under(p, key, s.Validate())
}

// under adds the problems of the stage at key, to which their Where is
// relative.
func under(p fault.Problems, key string, problems []error) fault.Problems {
	for _, err := range problems {
		f := *fault.As(err)
		if f.Where == "" {
			f.Where = key
		} else {
			f.Where = key + "." + f.Where
		}
		p = append(p, &f)
	}
	return p
}
