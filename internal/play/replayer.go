package play

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// replayer repeats the decisions of a recorded episode up to a step, then makes one given
// decision or none, and leaves all later decisions to the policy. Which step an observation
// belongs to follows from the number of its messages. The fields change between collections
// only.
type replayer struct {
	policy.Policy
	t       *rl.Trajectory
	prompts [][]int32 // tokens that a language model was given at each step; nil if unknown

	until int              // recorded steps to repeat
	first *policy.Decision // at step until; nil leaves it to the policy
	stop  bool             // end the episode at step until
	// see, if it is not nil, receives the observation of each step of the recording.
	see func(ctx context.Context, step int, o policy.Observation) error
}

// Act implements policy.Policy.
func (r *replayer) Act(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	var open []int
	for i := range observations {
		d, err := r.recorded(ctx, observations[i])
		switch {
		case err != nil:
			return err
		case d == nil:
			open = append(open, i)
		default:
			decisions[i] = *d
		}
	}
	if len(open) == 0 {
		return nil
	}
	seen, made := make([]policy.Observation, len(open)), make([]policy.Decision, len(open))
	for k, i := range open {
		seen[k] = observations[i]
	}
	if err := r.Policy.Act(ctx, seen, made); err != nil {
		return err
	}
	for k, i := range open {
		decisions[i] = made[k]
	}
	return nil
}

// recorded returns the decision for an observation, or nil if it is the policy's.
func (r *replayer) recorded(ctx context.Context, o policy.Observation) (*policy.Decision, error) {
	n := len(o.Messages)
	if n > r.saw(r.until) {
		return nil, nil
	}
	step, known := slices.BinarySearchFunc(r.t.Steps, n, func(s rl.Step, n int) int { return cmp.Compare(s.MessageCount, n) })
	if !known && n != len(r.t.Messages) {
		return nil, r.differs(step, fmt.Sprintf("the conversation has %d messages now", n))
	}
	if what := differentMessage(r.t.Messages[r.saw(step-1):n], o.Messages[r.saw(step-1):]); what != "" {
		return nil, r.differs(step, what)
	}
	if r.see != nil && step < len(r.t.Steps) {
		if err := r.see(ctx, step, o); err != nil {
			return nil, err
		}
	}
	switch {
	case step < r.until:
		return r.decision(step), nil
	case r.stop:
		return &policy.Decision{Stop: cmp.Or(stopOf(r.t), rl.StopPolicyEnded)}, nil
	}
	return r.first, nil
}

// saw returns the number of messages before step i, or of the whole episode.
func (r *replayer) saw(i int) int {
	switch {
	case i < 0:
		return 0
	case i < len(r.t.Steps):
		return r.t.Steps[i].MessageCount
	}
	return len(r.t.Messages)
}

// differs returns the error of an environment that does not repeat the recording.
func (r *replayer) differs(step int, what string) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: fmt.Sprintf("%s step %d", r.t.ID, step),
		What: "the environment does not repeat the recording: " + what,
		Hint: "use the configuration, the split and the version of the environment that recorded the episode",
	}
}

// differentMessage says where two conversations differ, or returns "".
func differentMessage(recorded, now []rl.Message) string {
	for i := range now {
		if i >= len(recorded) {
			break
		}
		if x, y := recorded[i], now[i]; x.Role != y.Role || x.Content.Text() != y.Content.Text() {
			return fmt.Sprintf("recorded %s %.60q, and now %s %.60q", x.Role, x.Content.Text(), y.Role, y.Content.Text())
		}
	}
	return ""
}

// decision returns the recorded decision of a step, as the policy made it.
func (r *replayer) decision(i int) *policy.Decision {
	s := &r.t.Steps[i]
	d := &policy.Decision{Action: s.Action, Raw: s.RawOutput, LogProb: s.LogProb, Entropy: s.Entropy, Prompt: r.prompts[i], Tokens: s.Tokens}
	if s.Action.Kind == rl.ActionText && s.RawOutput != "" && !s.ActionValid {
		d.Action = rl.Action{ToolCalls: s.Action.ToolCalls} // it may have named no action: parse it again
	}
	if s.Value != nil {
		d.Value, d.HasValue = *s.Value, true
	}
	if i == len(r.t.Steps)-1 && s.MessageCount == len(r.t.Messages)-1 { // a last output that no environment answered
		d.Stop = stopOf(r.t)
	}
	return d
}

// promptsOf returns the tokens that a language model was given at each step.
func promptsOf(t *rl.Trajectory) [][]int32 {
	all := make([][]int32, len(t.Steps))
	var before []int32
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Prompt != nil {
			all[i] = s.Prompt.Sequence(slices.Clone(before), nil)
			before = s.Prompt.Sequence(before, s.Tokens)
		}
	}
	return all
}

// stopOf returns how the policy ended an episode, or "" if it did not.
func stopOf(t *rl.Trajectory) rl.StopReason {
	if t.StopReason == rl.StopPolicyEnded || t.StopReason == rl.StopContext {
		return t.StopReason
	}
	return ""
}

// chosenBy marks in the info of a step that a person chose its action.
var chosenBy = map[string]json.RawMessage{"chosen_by": json.RawMessage(`"person"`)}
