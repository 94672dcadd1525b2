package explain

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// notes says in words what is special about e.
func notes(e *Explanation) (all []string) {
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	lost := 0
	for _, m := range e.Members {
		if m.Score == nil {
			lost++
		}
	}
	if e.Missing > 0 {
		note("the file holds %d of %d members: the group's mean is not the one that the learner saw, and the numbers here are not either", len(e.Members), len(e.Members)+e.Missing)
	}
	if lost > 0 {
		note("%d of %d members have no score: they are in no mean and no deviation, and their steps get advantage 0 and weight 0; no score is not the score 0", lost, len(e.Members))
	}
	if !e.Scored {
		note("the step's own trajectory is one of those without a score: nothing is learned from it")
		return all
	}
	switch t := e.Episode; {
	case t == nil:
	case t.N < 2 && e.Config.Singleton == advantage.SingletonRaw:
		note("a single member has a score: its episode advantage is the score itself (singleton: raw)")
	case t.N < 2:
		note("a single member has a score: there is nothing to compare it with, so the episode advantage is 0")
	case !t.Varied:
		note("all scores are equal: the episode advantage is 0 for every member, and the group teaches by its steps alone")
	}
	all = append(all, anchorNotes(e)...)
	if e.Return.Penalty != 0 {
		note("the action was invalid: %g is taken from the step's score and from its return after discounting", e.Return.Penalty)
	}
	if e.Return.Bootstrap {
		note("the episode was cut off here: what would have followed counts as the critic's estimate")
	}
	if e.Config.Estimator == "flow_grpo" {
		note("the weight of the step in the loss is one over the length of its trajectory, scaled to a mean of 1")
	}
	return all
}

// anchorNotes says what is special about the state.
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
		all = append(all, "no other step of the group saw this state: the step advantage is 0, and the episode's is all that is left")
	case !e.StepTerm.Varied:
		all = append(all, fmt.Sprintf("all %d steps from this state have the same return: the step advantage is 0", n))
	case own > 0:
		all = append(all, fmt.Sprintf("%d of the %d other steps are of the same episode: it came back to this state, and later visits have a return that is discounted less", own, n-1))
	}
	return all
}
