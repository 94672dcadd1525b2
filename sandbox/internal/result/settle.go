package result

import (
	"cmp"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sdk/reward/layout"
)

// Settle checks a status of the flat ABI against the received results.
func (c *Collector) Settle(status int32, group bool) *Verdict {
	if status < layout.StatusScored || status > layout.StatusError {
		return Violation("the status is %d; it must be 0 (scored), 1 (invalid) or 2 (error)", status)
	}
	for i := range c.members {
		m := &c.members[i]
		switch {
		case m.failed || m.scored && status == layout.StatusScored:
		case status == layout.StatusError:
			m.failed = true
		case status == layout.StatusScored && !m.scored && !(group && m.reason != ""):
			if group {
				return Violation("the status is 0 (scored), but member %d has neither a score nor a reason", i)
			}
			return Violation("the status is 0 (scored), but set_score was not called")
		}
	}
	c.invalid(status)
	return nil
}

// invalid removes the scores that a status of 1 makes void.
func (c *Collector) invalid(status int32) {
	if status != layout.StatusInvalid {
		return
	}
	for i := range c.members {
		c.members[i].scored = false
	}
}

const noMessage = "the reward returned an error without a message"

// Evaluation returns the result of one member.
func (c *Collector) Evaluation(i int, log string) reward.Evaluation {
	m := &c.members[i]
	if m.failed {
		return reward.Evaluation{Outcome: reward.GuestError, Reason: cmp.Or(m.fail, noMessage), Log: log}
	}
	e := reward.Evaluation{Outcome: reward.Scored, Log: log, Result: rl.EvaluateResult{
		Score: m.score, IsScoreValid: true, Reason: m.reason,
		Metrics: kept(m.metrics), StepOutputs: kept(m.steps),
	}}
	if !m.scored {
		e.Outcome, e.Reason, e.Result.IsScoreValid = reward.Invalid, m.reason, false
	}
	return e
}

// kept copies what the collector will reuse.
func kept[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return append(make(S, 0, len(s)), s...)
}
