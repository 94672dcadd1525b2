package explain

import (
	"cmp"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// FromTrajectories makes a batch of trajectories as files hold them, whose
// groups are told by Trajectory.Group; one without is a group by itself. Base
// rewards are those of the steps' credit, and without one those of the step
// outputs. The trajectories are shared and not changed.
//
// The error is that of the estimator: a column is missing, or a number is not
// finite.
func FromTrajectories(s Settings, source string, all []*rl.Trajectory) (*Batch, error) {
	b := &Batch{Config: s.Advantage, Moments: s.Moments}
	groups := recompute.Groups(all, func(t *rl.Trajectory) string { return cmp.Or(t.Group, t.ID) })
	for _, g := range groups {
		b.Groups = append(b.Groups, g.ID)
	}
	joined, err := join(s.Align, groups)
	if err != nil {
		return nil, err
	}
	b.Rows = joined.Rows
	for i, t := range joined.Trajectories {
		b.origin = append(b.origin, t)
		e := joined.Evaluations[i]
		b.members = append(b.members, Member{Trajectory: t.ID, Steps: len(t.Steps), Outcome: string(e.Outcome), Reason: e.Reason})
	}
	for i, step := range joined.Steps {
		b.actions = append(b.actions, Action(step))
		b.saved = append(b.saved, step.Credit)
		if step.Credit != nil && b.member(i) >= 0 {
			b.Rows.Reward[i] = step.Credit.BaseReward
		}
	}
	return b, b.estimate(source)
}

// join makes rows of copies: alignment writes into what it is given.
func join(cfg align.Config, groups []*rl.Group) (*align.Batch, error) {
	cfg.MaxUnscored = 1
	var evaluations []reward.Evaluation
	copies := make([]*rl.Group, len(groups))
	var originals []*rl.Trajectory
	for g, group := range groups {
		copies[g] = &rl.Group{ID: group.ID}
		for _, t := range group.Trajectories {
			evaluations = append(evaluations, evaluationOf(t))
			c := *t
			copies[g].Trajectories = append(copies[g].Trajectories, &c)
			originals = append(originals, t)
		}
	}
	b, err := align.Join(cfg, copies, evaluations, reward.ByAssistant)
	b.Trajectories = originals
	return b, err
}

// evaluationOf is what the file says became of t. Step outputs of a trajectory
// that has credit are left out: the credit says which steps they belong to.
func evaluationOf(t *rl.Trajectory) reward.Evaluation {
	e := reward.Evaluation{Outcome: reward.Outcome(t.Outcome), Reason: t.Error}
	if t.Evaluation != nil {
		e.Result = *t.Evaluation
		e.Reason = cmp.Or(e.Reason, e.Result.Error, e.Result.Reason)
	}
	switch {
	case e.Outcome != "":
	case t.Evaluation == nil:
		e.Outcome, e.Reason = reward.Invalid, cmp.Or(e.Reason, "the file holds no evaluation of it")
	case !t.Evaluation.IsScoreValid:
		e.Outcome = reward.Invalid
	default:
		e.Outcome = reward.Scored
	}
	if e.Outcome == reward.Scored {
		e.Reason = ""
	}
	for i := range t.Steps {
		if t.Steps[i].Credit != nil {
			e.Result.StepOutputs = nil
		}
	}
	return e
}

// Action is a step's action in one word or line.
func Action(s *rl.Step) string {
	switch {
	case len(s.Action.ToolCalls) > 0:
		f := s.Action.ToolCalls[0].Function
		return f.Name + "(" + f.Arguments + ")"
	case s.Action.Text == "" && s.Action.Kind == rl.ActionChoice && s.Action.Choice >= 0 && s.Action.Choice < len(s.Available):
		return s.Available[s.Action.Choice]
	}
	return s.Action.Text
}
