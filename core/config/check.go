package config

import (
	"fmt"
	"math"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox"
)

// check holds the decoded file to what each stage allows and notes every
// problem at the line that caused it.
func (d *decoder) check(f *File) {
	h, err := f.Environment.Host("train")
	if err != nil {
		d.invalid("environment.options", err.Error(), "use text, numbers, lists and sections with text keys")
	} else {
		d.stage("environment", h.Validate())
	}
	if f.Environment.Plugin == "" {
		d.missing("environment.plugin", "the environment has no plug-in", "name one that `merit plugins list` shows, or give a path")
	}
	d.rewards(f.Rewards)
	d.stage("sandbox", f.Sandbox.Validate())
	d.stage("rollout", f.Rollout.Validate())
	d.stage("align", f.Align.Validate())
	d.stage("advantage", f.Advantage.Validate())
	d.stage("policy", f.Policy.Validate())
	d.stage("ppo", f.PPO.Validate())
	d.stage("train", f.Train.Validate())
	d.stage("save", f.Save.Validate())
	if f.Advantage.Estimator == "gae" && !f.Policy.ValueHead {
		d.invalid("advantage.estimator", "gae needs a critic, and the policy has none", "set policy.value_head: true")
	}
}

func (d *decoder) rewards(rewards []Reward) {
	if len(rewards) == 0 {
		d.missing("rewards", "there is no reward", "add at least one: rewards: [{module: reward.wasm}]")
	}
	for i, r := range rewards {
		at := fmt.Sprintf("rewards[%d]", i)
		if r.Module == "" {
			d.missing(at+".module", "the reward has no module", "give the path of a .wasm file or of a reward.py")
		} else if info, err := os.Stat(r.Module); err != nil {
			d.missing(at+".module", fmt.Sprintf("there is no file %s", r.Module), "build it with `merit reward build`, or correct the path")
		} else if info.IsDir() && !sandbox.IsScript(r.Module) {
			d.invalid(at+".module", r.Module+" is a folder", "build it with `merit reward build` and name the .wasm file; for Python, the folder of reward.py")
		}
		if math.IsNaN(r.Weight) || math.IsInf(r.Weight, 0) {
			d.invalid(at+".weight", fmt.Sprintf("%v is not finite", r.Weight), "use a number; 1 is the default")
		}
	}
}

// stage notes the problems of the stage under key, to which their Where is
// relative.
func (d *decoder) stage(key string, problems []error) {
	for _, err := range problems {
		f := fault.As(err)
		d.note(f.Kind, join(key, f.Where), f.What, f.Hint)
	}
}

func (d *decoder) invalid(path, what, hint string) { d.note(fault.Invalid, path, what, hint) }
func (d *decoder) missing(path, what, hint string) { d.note(fault.Missing, path, what, hint) }

// note adds a problem of a value, unless its key has one already.
func (d *decoder) note(kind fault.Kind, path, what, hint string) {
	if d.bad[path] {
		return
	}
	d.fail(d.lines[path], path, kind, what, hint)
}
