package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// diff collects how two evaluations of one member differ.
type diff struct {
	of       Failure // the case and the member
	raw, log bool    // whether the section raw, and the log, must be there
	list     []Failure
}

func (d *diff) check(section string, want, got any) {
	if want != got {
		f := d.of
		f.Section, f.Want, f.Got = section, fmt.Sprint(want), fmt.Sprint(got)
		d.list = append(d.list, f)
	}
}

func (d *diff) compare(want, got reward.Evaluation) []Failure {
	d.check("outcome", want.Outcome, got.Outcome)
	d.check("the reason of the outcome", want.Reason, got.Reason)
	if len(d.list) > 0 || want.Outcome == reward.GuestError {
		return d.list
	}
	d.check("score", want.Result.Score, got.Result.Score)
	d.check("reason", want.Result.Reason, got.Result.Reason)
	if _, ok := got.Result.Metrics.Get("raw"); !ok && !d.raw {
		want.Result.Metrics = slices.DeleteFunc(want.Result.Metrics, func(m rl.Metric) bool { return m.Name == "raw" })
	}
	d.metrics("", want.Result.Metrics, got.Result.Metrics)
	d.steps(want.Result.StepOutputs, got.Result.StepOutputs)
	if d.log {
		d.check("log", want.Log, strings.TrimSpace(got.Log))
	}
	return d.list
}

func (d *diff) metrics(prefix string, want, got rl.Metrics) {
	d.check(prefix+"number of metrics", len(want), len(got))
	for _, w := range want {
		if g, ok := got.Get(w.Name); ok {
			d.check(prefix+w.Name, w.Score, g.Score)
		} else {
			d.check(prefix+w.Name, any(w.Score), "not reported")
		}
	}
}

func (d *diff) steps(want, got []rl.StepOutput) {
	if d.check("the number of steps", len(want), len(got)); len(want) != len(got) {
		return
	}
	for i := range want {
		at := fmt.Sprintf("step %d ", i)
		d.check(at+"index", want[i].StepIndex, got[i].StepIndex)
		d.check(at+"base_reward", want[i].BaseReward, got[i].BaseReward)
		d.check(at+"reason", want[i].Reason, got[i].Reason)
		d.metrics(at, want[i].Metrics, got[i].Metrics)
	}
}
