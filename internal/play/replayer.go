package play

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// replayer repeats the decisions of a recorded episode while it has one, and otherwise leaves
// them to the policy. Which step an observation belongs to follows from the number of its
// messages. The recording changes between collections only.
type replayer struct {
	policy.Policy
	t       *rl.Trajectory // nil if the policy decides
	prompts [][]int32      // tokens that a language model was given at each step; nil if unknown
	// see receives the observation of each step of the recording.
	see func(ctx context.Context, step int, o policy.Observation) error
}

// Act implements policy.Policy.
func (r *replayer) Act(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	if r.t == nil {
		return r.Policy.Act(ctx, observations, decisions)
	}
	for i := range observations {
		d, err := r.recorded(ctx, observations[i])
		if err != nil {
			return err
		}
		decisions[i] = *d
	}
	return nil
}

// recorded returns the recorded decision for an observation. After the last step it ends the
// episode.
func (r *replayer) recorded(ctx context.Context, o policy.Observation) (*policy.Decision, error) {
	n := len(o.Messages)
	step, known := slices.BinarySearchFunc(r.t.Steps, n, func(s rl.Step, n int) int { return cmp.Compare(s.MessageCount, n) })
	if !known && n != len(r.t.Messages) {
		return nil, differs(r.t, min(step, len(r.t.Steps)-1), fmt.Sprintf("the conversation has %d messages now", n))
	}
	before := 0
	if step > 0 {
		before = r.t.Steps[step-1].MessageCount
	}
	if what := differentMessage(r.t.Messages[before:n], o.Messages[before:]); what != "" {
		return nil, differs(r.t, step, what)
	}
	if step == len(r.t.Steps) {
		return &policy.Decision{Stop: cmp.Or(stopOf(r.t), rl.StopPolicyEnded)}, nil
	}
	return r.decision(step), r.see(ctx, step, o)
}

// differs returns the error of an environment that does not repeat the recording.
func differs(t *rl.Trajectory, step int, what string) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Differs, Where: fmt.Sprintf("%s step %d", t.ID, step),
		What: "the environment does not repeat the recording: " + what,
		Hint: "use the configuration, the split and the version of the environment that recorded the episode; its answers must depend on the seed and the actions alone",
	}
}

// differentMessage says where two conversations differ, or returns "".
func differentMessage(recorded, now []rl.Message) string {
	for i := range recorded {
		if x, y := recorded[i], now[i]; x.Role != y.Role || x.Content.Text() != y.Content.Text() {
			before, now := apart(x.Content.Text(), y.Content.Text())
			return fmt.Sprintf("recorded %s %.60q, and now %s %.60q", x.Role, before, y.Role, now)
		}
	}
	return ""
}

// decision returns the recorded decision of a step, as the policy made it.
func (r *replayer) decision(i int) *policy.Decision {
	s := &r.t.Steps[i]
	d := &policy.Decision{Action: s.Action, Raw: s.RawOutput, LogProb: s.LogProb, Entropy: s.Entropy, Prompt: r.prompts[i], Tokens: s.Tokens}
	if s.Held && s.RawOutput != "" { // it named no action: parse it again
		d.Action = rl.Action{ToolCalls: s.Action.ToolCalls}
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
