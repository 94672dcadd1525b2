package align

import (
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Check checks the step outputs of e against the conversation of t: by rule, each
// must name one assistant message, none twice, with a finite base reward. It
// returns e, or e as Unaligned with the first problem as its reason. It does not
// need steps, so it also works for conversations that Merit did not record.
func Check(t *rl.Trajectory, e reward.Evaluation, rule reward.StepIndexing) reward.Evaluation {
	if e.Outcome != reward.Scored || len(e.Result.StepOutputs) == 0 {
		return e
	}
	var l locator
	l.load(t)
	for _, s := range e.Result.StepOutputs {
		if _, problem := l.message(s, rule); problem != "" {
			return unaligned(e, t, problem)
		}
	}
	return e
}

func unaligned(e reward.Evaluation, t *rl.Trajectory, problem string) reward.Evaluation {
	e.Outcome = reward.Unaligned
	e.Reason = "trajectory " + t.ID + ": " + problem
	e.Result.IsScoreValid = false
	return e
}

// locator finds the message of a step output and the step of a message in one
// trajectory. Its buffers are reused between trajectories.
type locator struct {
	messages  []rl.Message
	prompt    int     // number of messages of the prompt, if known
	assistant []int32 // message index of the k-th assistant message after the prompt
	step      []int32 // by message: the step whose action it carries, or −1
	taken     []bool  // by message: a step output was found for it
}

// load prepares l for t and returns what is wrong with the steps of t, if
// anything: each must point to an assistant message after that of the previous
// step.
func (l *locator) load(t *rl.Trajectory) (problem string) {
	l.messages, l.prompt = t.Messages, t.Given()
	l.assistant, l.step, l.taken = l.assistant[:0], l.step[:0], l.taken[:0]
	for i := range t.Messages {
		if i >= l.prompt && t.Messages[i].Role == rl.RoleAssistant {
			l.assistant = append(l.assistant, int32(i))
		}
		l.step = append(l.step, -1)
		l.taken = append(l.taken, false)
	}
	before := -1
	for i := range t.Steps {
		at := t.Steps[i].MessageCount
		if at <= before || at >= len(t.Messages) || t.Messages[at].Role != rl.RoleAssistant {
			return fmt.Sprintf("step %d names message %d as its action, but that is not an assistant message after the message of step %d", i, at, i-1)
		}
		l.step[at] = int32(i)
		before = at
	}
	return ""
}

// message returns the index of the message that s speaks of, or what is wrong
// with s.
func (l *locator) message(s rl.StepOutput, rule reward.StepIndexing) (at int, problem string) {
	index := int(s.StepIndex)
	if problem := rule.Problem(index, l.messages, l.prompt, len(l.assistant)); problem != "" {
		return 0, problem
	}
	if at = index; rule != reward.ByMessage {
		at = int(l.assistant[index])
	}
	switch {
	case l.taken[at]:
		return 0, fmt.Sprintf("step_index %d occurs twice", index)
	case !finite(s.BaseReward):
		return 0, fmt.Sprintf("the base reward of step_index %d is %v", index, s.BaseReward)
	}
	l.taken[at] = true
	return at, ""
}

// difference replaces the rewards of the steps for which a step output was found by the
// difference from the one before; the first keeps its own.
func (l *locator) difference(rewards []float64) {
	before := 0.0
	for at, step := range l.step {
		if step >= 0 && l.taken[at] {
			rewards[step], before = rewards[step]-before, rewards[step]
		}
	}
}
