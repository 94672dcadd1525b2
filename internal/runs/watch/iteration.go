package watch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// suspects is how many trajectories a flag lists, as in runs.
const suspects = 5

// add adds an episode to the current iteration, or ends that and begins the next.
func (w *watcher) add(t *rl.Trajectory, step int, file string) error {
	if len(w.batch) > 0 && step < w.step {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf("step %d comes after step %d", step, w.step),
			Hint: "sort the rows, and name the files, by training step",
		}
	}
	if step != w.step {
		w.end()
	}
	if w.step = step; !slices.Contains(w.files, file) {
		w.files = append(w.files, file)
	}
	if t.BranchOf == "" { // a branch begins in the middle of another episode
		w.batch, w.file[t] = append(w.batch, t), file
	}
	return nil
}

// end measures the current iteration and raises its flags.
func (w *watcher) end() {
	batch := w.batch
	if len(batch) == 0 {
		return
	}
	slices.SortStableFunc(batch, func(a, b *rl.Trajectory) int { return cmp.Compare(a.Group, b.Group) })
	it := w.iteration(batch)
	w.history = append(w.history, it)
	last := &w.history[len(w.history)-1]
	last.Alarms = w.config().Look(w.history)
	w.report.Flags = append(w.report.Flags, w.flags(last.Alarms)...)
	w.count(it)
	w.batch, w.files = nil, nil
	clear(w.file)
}

// flags returns the alarms of the current iteration. Those that question the reward get the
// episodes to read first.
func (w *watcher) flags(alarms []run.Alarm) (all []Flag) {
	var suspected []*rl.Trajectory
	if monitor.Hacking(alarms) {
		suspected = w.config().Suspects(w.batch, suspects)
	}
	for i := range alarms {
		f := Flag{Alarm: alarms[i], Files: w.files}
		if len(suspected) > 0 && monitor.Hacking(alarms[i:i+1]) {
			f.First = w.file[suspected[0]]
			for _, t := range suspected {
				f.Trajectories = append(f.Trajectories, t.ID)
			}
		}
		all = append(all, f)
	}
	return all
}

// iteration returns the line of metrics for the episodes of an iteration, in group-major order.
func (w *watcher) iteration(batch []*rl.Trajectory) run.Iteration {
	it := run.Iteration{Iteration: w.step, Outcomes: map[string]int{}, Outputs: monitor.Measure(batch), Rollout: new(run.Rollout)}
	r := it.Rollout
	for _, t := range batch {
		it.Outcomes[t.Outcome]++
		if !scored(t) {
			r.Discarded++
			continue
		}
		r.Episodes++
		r.Steps += len(t.Steps)
		r.Return += t.Evaluation.Score
		if w.succeeded(t) {
			r.Success++
			w.success = true
		}
		for i := range t.Steps {
			w.env = w.env || t.Steps[i].EnvReward != 0
		}
	}
	if n := float64(r.Episodes); n > 0 {
		r.Success, r.Return, r.Length = r.Success/n, r.Return/n, float64(r.Steps)/n
	}
	it.Advantage = &run.Advantage{ZeroVarianceRate: flat(batch)}
	return it
}

func scored(t *rl.Trajectory) bool { return t.Outcome == string(reward.Scored) && t.Evaluation != nil }

func (w *watcher) succeeded(t *rl.Trajectory) bool {
	if w.named != "" {
		return t.Measured()[key(w.named)] >= 1
	}
	return t.Evaluation.Score >= w.least
}

// flat returns the share of groups with a score whose scores are all the same.
func flat(batch []*rl.Trajectory) float64 {
	first, differ := map[string]float64{}, map[string]bool{}
	for _, t := range batch {
		if !scored(t) {
			continue
		}
		if x, seen := first[t.Group]; !seen {
			first[t.Group] = t.Evaluation.Score
		} else if x != t.Evaluation.Score {
			differ[t.Group] = true
		}
	}
	return 1 - float64(len(differ))/float64(max(1, len(first)))
}

// config returns the monitor's configuration. Rewards of the environment and successes are not
// watched before any episode has one: zeros say nothing.
func (w *watcher) config() monitor.Config {
	c := w.c
	c.Watch = slices.DeleteFunc(slices.Clone(c.Watch), func(name string) bool {
		return name == "env_reward" && !w.env || name == "success" && !w.success
	})
	return c
}

// count adds an iteration to the report.
func (w *watcher) count(it run.Iteration) {
	r := w.report
	if r.Iterations == 0 {
		r.First = it.Iteration
	}
	r.Iterations, r.Last = r.Iterations+1, it.Iteration
	r.Episodes += it.Rollout.Episodes + it.Rollout.Discarded
	r.Unscored += it.Rollout.Discarded
	r.Success = it.Rollout.Success
	if it.Outputs != nil {
		w.words = w.words || it.Outputs.Words > 0
		w.groups = w.groups || it.Rollout.Episodes > it.Outputs.Groups
	}
}

// complete returns an error if there is nothing to watch, or a name that no episode has.
func (w *watcher) complete(files []string) error {
	where := strings.Join(files, ", ")
	if w.report.Episodes == 0 {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: where, What: "there are no episodes", Hint: "pass the folder or the files in which the trainer stores rollouts"}
	}
	if !slices.ContainsFunc(w.history, func(it run.Iteration) bool { return it.Outcomes[noScore] < it.Rollout.Episodes+it.Rollout.Discarded }) {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: where, What: "no episode has a score", Hint: "name the column of the score with --score"}
	}
	var problems []error
	for _, name := range w.wanted() {
		if !w.found[name] {
			problems = append(problems, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: where, What: fmt.Sprintf("no episode has the metric or column %s", name), Hint: "name a column of the files, or a metric of the reward"})
		}
	}
	return errors.Join(problems...)
}

// gaps lists the flags that cannot be raised.
func (w *watcher) gaps() []Gap {
	gaps := []Gap{
		{[]string{"kl", "entropy_collapse", "value_loss", "gradient_explosion"}, "rollouts do not hold the updates of the policy"},
		{[]string{"held_out_gap"}, "rollouts do not hold validations"},
		{[]string{"singleton_anchors"}, "rollouts do not hold which states are the same"},
	}
	if len(w.wanted()) == 0 && len(w.o.Watch) == 0 && !slices.ContainsFunc(w.history, w.second) {
		gaps = append(gaps, Gap{[]string{"divergence"}, "no metric is watched beside the score: name one with --watch or --success"})
	}
	if !w.groups {
		gaps = append(gaps, Gap{[]string{"no_variance", "lost_diversity"}, "no two episodes of an iteration have the same prompt or group"})
	}
	if !w.words {
		gaps = append(gaps, Gap{[]string{"repetition", "lost_diversity", "length"}, "the episodes contain no text of the policy"})
	}
	return append(gaps, w.early()...)
}

// early lists the flags for which there are too few iterations.
func (w *watcher) early() (gaps []Gap) {
	window, t := w.c.Window, w.c.Thresholds
	for _, need := range []struct {
		iterations int
		flags      []string
	}{
		{window, []string{"no_variance"}},
		{2 * window, []string{"oscillation", "divergence", "repetition", "lost_diversity", "length"}},
		{2*window + 3, []string{"reward_jump"}},
		{max(2*window, t.RewardFlat), []string{"reward_flat"}},
		{t.Plateau + window, []string{"plateau"}},
	} {
		if w.report.Iterations < need.iterations {
			gaps = append(gaps, Gap{need.flags, fmt.Sprintf("needs %d iterations, and there are %d", need.iterations, w.report.Iterations)})
		}
	}
	return gaps
}

// second reports whether an iteration has a measurement beside the score that the monitor
// watches unasked.
func (w *watcher) second(it run.Iteration) bool {
	o := it.Outputs
	if o == nil {
		return false
	}
	_, solved := o.Metrics["solved"]
	success := it.Rollout.Success > 0 && math.Abs(it.Rollout.Success-o.Score) > 1e-6
	return w.env || solved || success
}
