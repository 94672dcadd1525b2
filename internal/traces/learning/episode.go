package learning

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Names in a step's info: the reason why the step is not learned from; as true, that the
// probability of the decision was not recorded; and the messages that a call was sent, if
// they are not those of the trajectory before the answer, as with several agents.
const (
	infoSkipped = "not_learnt"
	infoUnknown = "log_prob_unknown"
	infoSent    = "sent"
)

// The reasons not to learn from a call.
const (
	skipAgent  = "another agent"
	skipError  = "an error"
	skipChoice = "no choice"    // the answer is not one of the choices
	skipText   = "no new text"  // the last input message is not what a network would read
	skipTokens = "no token ids" // prompt or answer lacks them, for a language model
	// the environment's encoder refused the call, for the reason that follows
	skipForeign = "not encoded: "
	skipIllegal = "an illegal action" // the environment did not offer it there
)

// reader converts traces to episodes.
type reader struct {
	agents  []string
	choices []string // of the embedded network; nil for a language model
	encodes bool     // a language model turns calls without token ids into tokens itself
	encoder *encoder // of the environment; nil if the network reads text
}

// episode returns t as a trajectory with anchors, choices, and its recorded reward.
// Steps that cannot be learned from are included, with the reason.
func (r *reader) episode(ctx context.Context, t *trace.Trace) (*rl.Trajectory, error) {
	out := t.Trajectory()
	if out.Group == "" {
		out.Group = t.ID
	}
	k := 0
	for i := range t.All {
		s := &t.All[i]
		if s.Kind == trace.KindPrompt && s.Prompt.Answer != nil {
			if err := r.step(ctx, out, k, s); err != nil {
				return nil, err
			}
			k++
		}
	}
	out.Outcome, out.Evaluation = recorded(t, out)
	return out, nil
}

// step prepares step k of out, which is span s, for learning.
func (r *reader) step(ctx context.Context, out *rl.Trajectory, k int, s *trace.Span) error {
	step := &out.Steps[k]
	step.Anchor = anchor(s)
	for _, name := range []string{infoSkipped, infoUnknown, infoSent} {
		delete(step.Info, name) // of an earlier run whose trajectories were imported
	}
	if len(s.Prompt.Tokens) == 0 {
		step.Info[infoUnknown] = json.RawMessage("true")
	}
	why, err := skipAgent, error(nil)
	switch {
	case len(r.agents) > 0 && !slices.Contains(r.agents, s.Agent):
	case r.encoder != nil:
		why, err = r.encoder.step(ctx, step, s)
	default:
		why = r.choose(out, step, s)
	}
	if err != nil {
		return fmt.Errorf("trace %s, call %d: %w", s.Trace, k+1, err)
	}
	if why != "" {
		step.Policy = nil
		text, _ := json.Marshal(why) // a constant of this package
		step.Info[infoSkipped] = text
	}
	return nil
}

// choose converts the answer to a choice, if the policy chooses. It returns the
// reason if the step cannot be learned from.
func (r *reader) choose(out *rl.Trajectory, step *rl.Step, s *trace.Span) (why string) {
	if r.choices == nil {
		switch {
		case s.Status == trace.StatusError:
			return skipError
		case step.Prompt != nil && len(step.Tokens) > 0:
			return ""
		case !r.encodes:
			return skipTokens
		case !slices.EqualFunc(out.Messages[:step.MessageCount], s.Prompt.Messages, trace.Same):
			step.Info[infoSent] = trace.JSON(s.Prompt.Messages)
		}
		return ""
	}
	step.Available = r.choices
	said := strings.TrimSpace(s.Prompt.Answer.Content.Text())
	at, m := slices.Index(r.choices, said), mask(r.choices, Offered(s.Prompt.Settings))
	switch {
	case s.Status == trace.StatusError:
		return skipError
	case at < 0 || len(s.Prompt.Answer.ToolCalls) > 0 || m != nil && m[at] == 0:
		step.ActionValid = false
		return skipChoice
	case !asked(out, step, s):
		return skipText
	}
	step.Action = rl.Action{Kind: rl.ActionChoice, Choice: at, Text: said}
	step.Policy = &rl.Sampled{Mask: m}
	return ""
}

// asked reports whether the message before the answer, which a network reads, is
// the last message of the call's input.
func asked(out *rl.Trajectory, step *rl.Step, s *trace.Span) bool {
	n := len(s.Prompt.Messages)
	return n > 0 && step.MessageCount > 0 &&
		out.Messages[step.MessageCount-1].Content.Text() == s.Prompt.Messages[n-1].Content.Text()
}

// anchor returns a digest of the agent and the input of a call: calls with equal
// anchors were in the same state.
func anchor(s *trace.Span) string {
	h := sha256.New()
	enc := json.NewEncoder(h) // one value per line, so that the encoding is unambiguous
	_ = enc.Encode(s.Agent)   // a hash does not fail
	for i := range s.Prompt.Messages {
		m := &s.Prompt.Messages[i]
		_ = enc.Encode([]any{m.Role, m.Content.Text(), m.ToolCallID})
		for _, c := range m.ToolCalls {
			_ = enc.Encode([]string{c.Function.Name, c.Function.Arguments})
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// skipped returns why the step is not learned from; empty if it is.
func skipped(s *rl.Step) string {
	var why string
	_ = strictjson.Unmarshal(s.Info[infoSkipped], &why) // absent means empty
	return why
}

// unknown reports whether the probability of the step's decision was not recorded.
func unknown(s *rl.Step) bool { return s.Info[infoUnknown] != nil }
