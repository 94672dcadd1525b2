package trace

import (
	"slices"

	"github.com/merit-rl/merit/core/rl"
)

// AttributeBranch is the attribute with the branch of a trace that a call belongs to: the id
// of the branch's first span. Calls of the trunk have none.
const AttributeBranch = "branch"

// Histories are the conversations of a trace, as its calls leave them: one for each agent
// and branch. Pass it the calls in order.
type Histories struct {
	of    map[string][]rl.Message // by agent and branch
	after map[string][]rl.Message // by span
}

// Before returns the conversation that a call continues: that of the same agent's previous
// call in its branch, or, for the first call of a branch, that of the span that the branch
// leaves from.
func (h *Histories) Before(s *Span) []rl.Message {
	if before, known := h.of[s.conversation()]; known {
		return before
	}
	return h.after[s.Parent]
}

// Add notes an answered call.
func (h *Histories) Add(s *Span) {
	if h.of == nil {
		h.of, h.after = map[string][]rl.Message{}, map[string][]rl.Message{}
	}
	now := append(slices.Clip(s.Prompt.Messages), *s.Prompt.Answer)
	h.of[s.conversation()], h.after[s.ID] = now, now
}

// conversation names the agent and the branch of a call.
func (s *Span) conversation() string { return s.Agent + "\x00" + string(s.Attributes[AttributeBranch]) }
