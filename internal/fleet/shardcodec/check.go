package shardcodec

import (
	"fmt"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// check returns in what way s does not fit the order o, or nil.
func check(o Order, s credit.Scored) error {
	if len(s.Groups) != o.Plan.Groups {
		return fmt.Errorf("it has %d of %d groups", len(s.Groups), o.Plan.Groups)
	}
	var episodes []*rl.Trajectory
	for i, g := range s.Groups {
		if err := checkGroup(o, o.Plan.FirstGroup+i, g); err != nil {
			return err
		}
		episodes = append(episodes, g.Trajectories...)
	}
	if len(s.Evaluations) != len(episodes) {
		return fmt.Errorf("%d evaluations for %d episodes", len(s.Evaluations), len(episodes))
	}
	for i, t := range episodes {
		if err := checkEvaluation(t, s.Evaluations[i]); err != nil {
			return fmt.Errorf("evaluation of %s: %w", t.ID, err)
		}
	}
	return nil
}

func checkGroup(o Order, number int, g *rl.Group) error {
	id := o.Plan.GroupID(number)
	seed := o.Plan.Start(number)
	switch {
	case g == nil || g.ID != id:
		return fmt.Errorf("group %s is missing at its place", id)
	case g.Task.Seed != seed || g.Task.ID == "":
		return fmt.Errorf("group %s has a different task", id)
	case len(g.Trajectories) < o.Plan.Members || len(g.Trajectories) > o.Plan.Members && !o.Plan.Branch:
		return fmt.Errorf("group %s has %d members, not %d", id, len(g.Trajectories), o.Plan.Members)
	}
	for member, t := range g.Trajectories {
		want := o.Plan.TrajectoryID(number, member)
		if member >= o.Plan.Members {
			want = fmt.Sprintf("%s-b%d", id, member-o.Plan.Members)
		}
		switch {
		case t == nil || t.ID != want:
			return fmt.Errorf("episode %s is missing at its place", want)
		case (t.BranchOf != "") != (member >= o.Plan.Members) || t.BranchAt < 0:
			return fmt.Errorf("%s branches off %.80q at %d", t.ID, t.BranchOf, t.BranchAt)
		case t.Group != id || t.Seed != seed:
			return fmt.Errorf("%s belongs to another group", t.ID)
		}
		if err := checkEpisode(o, t); err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
	}
	return nil
}

// stops are the valid stop reasons of an episode.
var stops = []rl.StopReason{
	rl.StopTerminated, rl.StopTruncated, rl.StopPolicyEnded, rl.StopPattern, rl.StopContext, rl.StopInvalid, rl.StopError,
}

// checkEpisode checks what the pipeline relies on. The coordinator determines outcome and
// credit itself and does not accept them from a worker.
func checkEpisode(o Order, t *rl.Trajectory) error {
	if err := t.Check(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(stops, t.StopReason):
		return fmt.Errorf("the stop reason is %.40q", t.StopReason)
	case t.Outcome != "" || t.Evaluation != nil || t.Notes != nil:
		return fmt.Errorf("it already has an outcome, evaluation or notes")
	case (t.StopReason == rl.StopError) != (t.Error != ""):
		return fmt.Errorf("the stop reason is %s with the error %.80q", t.StopReason, t.Error)
	case t.Bootstrap != nil && !finite(*t.Bootstrap):
		return fmt.Errorf("the bootstrap value is %v", *t.Bootstrap)
	}
	for name, v := range t.Metrics {
		if !finite(v) {
			return fmt.Errorf("the metric %.80q is %v", name, v)
		}
	}
	for i := range t.Steps {
		if err := checkStep(o, &t.Steps[i]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func checkStep(o Order, s *rl.Step) error {
	switch {
	case s.Credit != nil:
		return fmt.Errorf("it already has credit")
	case s.PolicyVersion > o.Version:
		return fmt.Errorf("policy version %d is newer than the order's version %d", s.PolicyVersion, o.Version)
	case !finite(s.LogProb) || !finite(s.Entropy) || !finite(s.EnvReward) || s.Value != nil && !finite(*s.Value):
		return fmt.Errorf("a number is not finite")
	}
	for _, t := range s.Tokens {
		if !finite(t.LogProb) {
			return fmt.Errorf("the log-probability of a token is not finite")
		}
	}
	if p := s.Policy; p != nil && !finite(float64(p.LogitMax)) { // features were checked when they were read
		return fmt.Errorf("the largest logit is not finite")
	}
	return nil
}

// checkEvaluation checks that the outcome is a known one that fits t and depends only on the
// order, not on the worker. Package align checks the scores against the steps of t, as for any
// other evaluation.
func checkEvaluation(t *rl.Trajectory, e reward.Evaluation) error {
	lost := t.StopReason == rl.StopError
	switch {
	case !slices.Contains(reward.Outcomes, e.Outcome):
		return fmt.Errorf("the outcome is %.40q", e.Outcome)
	case lost != (e.Outcome == reward.Infrastructure):
		return fmt.Errorf("an episode with the stop reason %s has the outcome %s", t.StopReason, e.Outcome)
	case e.Outcome == reward.Scored && !(e.Result.IsScoreValid && finite(e.Result.Score)):
		return fmt.Errorf("the outcome is scored, but the score is not a number")
	case e.Outcome == reward.Timeout:
		return fmt.Errorf("the outcome timeout depends on the worker, not on the order")
	}
	return nil
}

// Passing returns the first evaluation that failed only because something was missing or too
// slow on the worker, or nil. With such an evaluation there is no result, because another try
// may succeed.
func Passing(s credit.Scored) *reward.Evaluation {
	i := 0
	for _, g := range s.Groups {
		for _, t := range g.Trajectories {
			e := &s.Evaluations[i]
			i++
			if Passes(t, *e) {
				return e
			}
		}
	}
	return nil
}

// Passes reports whether e failed only because of the worker: see Passing.
func Passes(t *rl.Trajectory, e reward.Evaluation) bool {
	return e.Outcome == reward.Timeout || e.Outcome == reward.Infrastructure && t.StopReason != rl.StopError
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
