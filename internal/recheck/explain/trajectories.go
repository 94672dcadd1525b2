package explain

import (
	"cmp"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// FromTrajectories builds a batch from trajectories in a file. Trajectory.Group names their
// groups; a trajectory without one is a group by itself. Base rewards come from the steps'
// credit or, without credit, from the step outputs. The trajectories are shared and not
// changed.
//
// It returns the error of the estimator if a column is missing or a number is not finite.
func FromTrajectories(s Settings, source string, all []*rl.Trajectory) (*Batch, error) {
	b := &Batch{Config: s.Advantage, Moments: s.Moments}
	groups := recompute.Groups(all, func(t *rl.Trajectory) string { return cmp.Or(t.Group, t.ID) })
	for _, g := range groups {
		b.Groups = append(b.Groups, g.ID)
	}
	joined, err := fitting(s.Align, groups)
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
	if onGraph(s.Advantage.Estimator) {
		recompute.Kept(&b.Rows, joined.Steps)
	}
	return b, b.estimate(source)
}

// fitting joins step outputs with steps by the rule that fits: a file does not say whether its
// rewards counted the assistant's messages or all messages.
func fitting(cfg align.Config, groups []*rl.Group) (*align.Batch, error) {
	b, err := join(cfg, groups, reward.ByAssistant)
	if err != nil || unaligned(b) == 0 {
		return b, err
	}
	other, err := join(cfg, groups, reward.ByMessage)
	if err != nil || unaligned(other) > 0 {
		return b, nil
	}
	return other, nil
}

// unaligned counts the trajectories whose step outputs do not fit their steps.
func unaligned(b *align.Batch) (n int) {
	for i := range b.Evaluations {
		if b.Evaluations[i].Outcome == reward.Unaligned {
			n++
		}
	}
	return n
}

// join builds rows from copies, because alignment writes into its input.
func join(cfg align.Config, groups []*rl.Group, rule reward.StepIndexing) (*align.Batch, error) {
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
	b, err := align.Join(cfg, copies, evaluations, rule)
	b.Trajectories = originals
	return b, err
}

// evaluationOf returns the stored evaluation of t. It leaves out step outputs of a trajectory
// with credit, because the credit assigns them to steps.
func evaluationOf(t *rl.Trajectory) reward.Evaluation {
	e := reward.Evaluation{Outcome: reward.Outcome(t.Outcome), Reason: t.Error}
	if t.Evaluation != nil {
		e.Result = *t.Evaluation
		e.Reason = cmp.Or(e.Reason, e.Result.Error, e.Result.Reason)
	}
	switch {
	case e.Outcome != "":
	case t.Evaluation == nil:
		e.Outcome, e.Reason = reward.Invalid, cmp.Or(e.Reason, "the file has no evaluation of this trajectory")
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

// Action returns a step's action as one word or line.
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
