package sandbox

import (
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
)

// settle checks a status against what was said.
func (c *collector) settle(status int32, group bool) *verdict {
	if status < abi.StatusScored || status > abi.StatusError {
		return violation("the status is %d; it must be 0 (scored), 1 (invalid) or 2 (error)", status)
	}
	for i := range c.members {
		m := &c.members[i]
		switch {
		case m.failed || m.scored && status == abi.StatusScored:
		case status == abi.StatusError:
			m.failed = true
		case status == abi.StatusScored && !m.scored && !(group && m.reason != ""):
			if group {
				return violation("the status is 0 (scored), but member %d has neither a score nor a reason", i)
			}
			return violation("the status is 0 (scored), but set_score was not called")
		}
	}
	c.invalid(status)
	return nil
}

// invalid takes the scores back that a status of 1 makes void.
func (c *collector) invalid(status int32) {
	if status != abi.StatusInvalid {
		return
	}
	for i := range c.members {
		c.members[i].scored = false
	}
}

// evaluation builds the result of one member.
func (c *collector) evaluation(i int, log string) reward.Evaluation {
	m := &c.members[i]
	if m.failed {
		reason := m.fail
		if reason == "" {
			reason = "the reward returned an error without a message"
		}
		return reward.Evaluation{Outcome: reward.GuestError, Reason: reason, Log: log}
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

// kept copies what the collector will use again.
func kept[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return append(make(S, 0, len(s)), s...)
}
