package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// decide asks the policy about every slot that has an observation, in one
// call, and ends the episodes that it ends.
func (w *worker) decide(ctx context.Context) error {
	w.rows, w.observations = w.rows[:0], w.observations[:0]
	for i := range w.slots {
		s := &w.slots[i]
		if s.prescribe(); s.waits() {
			w.rows = append(w.rows, i)
			w.observations = append(w.observations, w.observation(s))
		}
	}
	if len(w.rows) == 0 {
		return nil
	}
	decisions := w.decisions[:len(w.rows)]
	clear(decisions)
	if err := w.act(ctx, decisions); err != nil {
		return err
	}
	for k, i := range w.rows {
		if err := w.take(ctx, &w.slots[i], &decisions[k]); err != nil {
			return err
		}
	}
	return nil
}

// observation is what the policy sees of s.
func (w *worker) observation(s *slot) policy.Observation {
	n := len(s.t.Messages)
	return policy.Observation{
		Messages: s.t.Messages[:n:n],
		Text:     s.text,
		Features: s.features,
		Mask:     s.mask,
		Actions:  w.spec.Actions,
		Tools:    w.spec.Tools,
		Start:    s.t.Seed,
		Seed:     w.queue.decision(s.job, len(s.t.Steps)),
		Greedy:   w.queue.plan.Greedy,
		Tokens:   s.tokens[:len(s.tokens):len(s.tokens)],
		Covered:  s.covered,
	}
}

// act calls the policy within the step deadline.
func (w *worker) act(ctx context.Context, decisions []policy.Decision) error {
	limited, cancel := w.collector.limit(ctx)
	defer cancel()
	err := w.collector.policy.Act(limited, w.observations, decisions)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case over(limited):
		return &fault.Error{
			Boundary: fault.Learner, Kind: fault.Timeout, Where: "policy",
			What: fmt.Sprintf("no decision within step_deadline %v", w.collector.cfg.StepDeadline),
			Hint: "raise rollout.step_deadline, or use fewer slots per call of the policy", Err: err,
		}
	}
	return err
}

// take makes d the decision of s.
func (w *worker) take(ctx context.Context, s *slot, d *policy.Decision) error {
	if d.Err != nil {
		return w.undecided(s, d.Err)
	}
	if problem := w.check(d); problem != "" {
		return &fault.Error{
			Boundary: fault.Learner, Kind: fault.Invalid, Where: fmt.Sprintf("%s step %d", s.t.ID, len(s.t.Steps)),
			What: "the policy " + problem,
			Hint: "lower the learning rate if training diverged",
		}
	}
	if s.phase == valuing {
		if d.HasValue {
			s.t.Bootstrap = s.arena.value(d.Value)
		}
		w.finish(s, s.t.StopReason)
		return nil
	}
	s.decision = *d
	if d.Stop == "" {
		s.phase = acting
		w.understand(s)
		return nil
	}
	if d.Raw != "" { // final output is a separate step: it can be scored and learned from
		s.decision.Action, s.held, s.problem = rl.Action{Kind: rl.ActionText, Text: d.Raw}, false, ""
		s.say()
		step := s.record(&w.spec, w.version, 0, 0)
		if w.debug {
			w.logStep(ctx, s, step)
		}
	}
	w.finish(s, d.Stop)
	return nil
}

// understand parses the output of a policy as configured, unless the policy
// returned an action.
func (w *worker) understand(s *slot) {
	d := &s.decision
	s.problem = ""
	silent := d.Raw == "" && len(d.Action.ToolCalls) == 0
	switch kind := d.Action.Kind; {
	case kind == rl.ActionText && d.Action.Text == "" && silent: // empty text is an answer too
	case kind != "":
		return
	case silent && d.Prompt == nil && d.Tokens == nil:
		d.Action.Kind = w.kind()
		return
	}
	d.Action, s.problem = w.collector.parser.Parse(d.Raw, d.Action.ToolCalls)
}

// undecided gives up an episode whose policy returned no decision. It returns err
// if every other episode would fail too: a learner that crashed recovers by Load,
// not by a retry.
func (w *worker) undecided(s *slot, err error) error {
	if !fault.Retryable(err) || errors.Is(err, fault.Of(fault.Learner, fault.Crashed)) {
		return err
	}
	w.lose(s, err, passing)
	return nil
}

// kind is what an action is if the policy does not say it.
func (w *worker) kind() rl.ActionKind {
	if len(w.spec.Actions) > 0 {
		return rl.ActionChoice
	}
	return rl.ActionText
}

// check returns what is wrong with a decision, or "".
func (w *worker) check(d *policy.Decision) string {
	for _, x := range [...]float64{d.LogProb, d.Entropy, d.Value} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprintf("returned a number that is not finite: log-probability %v, entropy %v, value %v", d.LogProb, d.Entropy, d.Value)
		}
	}
	for _, t := range d.Tokens {
		if t.LogProb-t.LogProb != 0 {
			return fmt.Sprintf("returned log-probability %v for token %d", t.LogProb, t.ID)
		}
	}
	if d.Lag > w.version {
		return fmt.Sprintf("is at version %d but decided with weights that are %d versions old", w.version, d.Lag)
	}
	said := d.Raw != "" || len(d.Action.ToolCalls) > 0
	choice := d.Action.Kind == rl.ActionChoice || d.Action.Kind == "" && !said && w.kind() == rl.ActionChoice
	if d.Stop == "" && choice && (d.Action.Choice < 0 || d.Action.Choice >= len(w.spec.Actions)) {
		return fmt.Sprintf("chose action %d of %d", d.Action.Choice, len(w.spec.Actions))
	}
	return ""
}
