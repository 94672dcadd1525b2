package explain

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// notes returns remarks on special cases in e.
func notes(e *Explanation) (all []string) {
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	lost := 0
	for _, m := range e.Members {
		if m.Score == nil {
			lost++
		}
	}
	if e.Missing > 0 {
		note("the file contains %d of %d members: the group's mean and the numbers here differ from those that the learner used", len(e.Members), len(e.Members)+e.Missing)
	}
	if lost > 0 {
		note("%d of %d members have no score: they do not count in means and deviations, and their steps get advantage 0 and weight 0; no score is not the score 0", lost, len(e.Members))
	}
	all = append(all, branchNotes(e)...)
	if !e.Scored {
		note("the trajectory of this step has no score: the learner ignores it")
		return all
	}
	switch t := e.Episode; {
	case t == nil:
	case t.N < 2 && e.Config.Singleton == advantage.SingletonRaw:
		note("only one member has a score: its episode advantage is the score itself (singleton: raw)")
	case t.N < 2:
		note("only one member has a score: there is nothing to compare it with, so the episode advantage is 0")
	case !t.Varied:
		note("all scores are equal: the episode advantage is 0 for every member, and only step advantages remain")
	}
	all = append(all, anchorNotes(e)...)
	if e.Return.Penalty != 0 {
		note("the action was invalid: %g is subtracted from the step's score and from its return after discounting", e.Return.Penalty)
	}
	if e.Return.Bootstrap {
		note("the episode was truncated here: the critic's estimate replaces the missing return")
	}
	if e.Config.Estimator == "flow_grpo" {
		note("the weight of the step in the loss is one over the length of its trajectory, scaled to a mean of 1")
	}
	return all
}

// branchNotes returns remarks on branches.
func branchNotes(e *Explanation) (all []string) {
	t := e.Tree
	if t == nil {
		return nil
	}
	if t.CopyOf != "" {
		all = append(all, fmt.Sprintf("the step is a copy of step %d of %s: the numbers are those of that step, and the learner skips the copy", e.Step, t.CopyOf))
	}
	later := 0
	for _, l := range t.Left {
		if l.Step > e.Step {
			later += l.Branches
		}
	}
	if later > 0 {
		all = append(all, fmt.Sprintf("%d branches leave the episode after this step: G and the score are means over all that follow", later))
	}
	return all
}

// anchorNotes returns remarks on special cases of the state.
func anchorNotes(e *Explanation) (all []string) {
	if e.Anchor == nil || e.StepTerm == nil || e.Config.Estimator != "gigpo" {
		return nil
	}
	own := -1
	for _, p := range e.Anchor.Steps {
		if p.Trajectory == e.Trajectory {
			own++
		}
	}
	switch n := len(e.Anchor.Steps); {
	case n == 1:
		all = append(all, "no other step of the group saw this state: the step advantage is 0, and only the episode advantage remains")
	case !e.StepTerm.Varied:
		all = append(all, fmt.Sprintf("all %d steps from this state have the same return: the step advantage is 0", n))
	case own > 0:
		all = append(all, fmt.Sprintf("%d of the %d other steps belong to the same episode: it returned to this state, and later visits have a return that is discounted less", own, n-1))
	}
	return all
}
