package result

import (
	"strconv"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// SetStep takes the reward of a step.
func (c *Collector) SetStep(index int32, v float64) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	if index < 0 {
		return Violation("step %d is negative", index)
	}
	if err := c.exists(int(index)); err != nil {
		return err
	}
	if m.position[index] != 0 {
		return Violation("step %d was rewarded twice", index)
	}
	if !finite(v) {
		return Violation("the reward of step %d is %v, not a finite number", index, v)
	}
	if c.steps++; c.steps > c.limits.Steps {
		return OverOutput("steps")
	}
	m.steps = append(m.steps, rl.StepOutput{StepIndex: rl.StepIndex(index), BaseReward: v})
	m.position[index] = int32(len(m.steps))
	return nil
}

// exists checks a step index against the conversation.
func (c *Collector) exists(index int) error {
	messages := c.rollout[c.current].Messages
	if c.rule == reward.ByMessage {
		if index >= len(messages) || messages[index].Role != rl.RoleAssistant {
			return &Verdict{reward.Unaligned, "step " + strconv.Itoa(index) + " is not an assistant message of the conversation"}
		}
		return nil
	}
	n := c.members[c.current].assistants
	if index < n {
		return nil
	}
	return &Verdict{reward.Unaligned, "step " + strconv.Itoa(index) + " does not exist: the conversation has " + strconv.Itoa(n) + " assistant messages"}
}

// step returns a step that has its reward.
func (c *Collector) step(index int32) (*rl.StepOutput, error) {
	m, err := c.member()
	if err != nil {
		return nil, err
	}
	if index < 0 || int(index) >= len(m.position) || m.position[index] == 0 {
		return nil, Violation("step %d is spoken of before it has a reward", index)
	}
	return &m.steps[m.position[index]-1], nil
}

// SetStepReason takes the reason of a step that has its reward.
func (c *Collector) SetStepReason(index int32, text []byte) error {
	s, err := c.step(index)
	if err != nil {
		return err
	}
	s.Reason, err = c.take(text)
	return err
}
