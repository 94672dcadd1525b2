package trace

import (
	"cmp"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
)

// told adds what agents did without a recorded model call: a run of a tool becomes a
// call and its result, and an answer or a piece of work becomes a message of the
// agent. Votes and reasoning are only in the metadata.
func (t *Trace) told(out *rl.Trajectory, named bool) {
	for i := range t.All {
		s := &t.All[i]
		said := rl.Message{Role: rl.RoleAssistant, Content: rl.Text(s.Text)}
		action := rl.Action{Kind: rl.ActionText, Text: s.Text}
		switch {
		case s.Kind == KindTool:
			said = s.call()
			action = rl.Action{Kind: rl.ActionTool, ToolCalls: said.ToolCalls}
		case s.Kind == KindContent && s.Text != "":
		case s.Kind == KindCoordination && s.Coordination.Event == EventAnswer && s.Text != "":
		default:
			continue
		}
		if named {
			said.Name = s.Agent
		}
		out.Steps = append(out.Steps, rl.Step{
			Index: len(out.Steps), MessageCount: len(out.Messages), RawOutput: s.Text, Action: action, ActionValid: s.Status != StatusError, Info: s.info(),
		})
		out.Messages = append(out.Messages, said)
		if s.Kind == KindTool {
			out.Messages = append(out.Messages, s.answered(said.ToolCalls[0].ID))
		}
	}
}

// call returns the message that requests a run of a tool.
func (s *Span) call() rl.Message {
	call := rl.ToolCall{ID: cmp.Or(s.Tool.CallID, s.ID), Type: "function", Function: rl.FunctionCall{Name: s.Name, Arguments: s.Tool.Arguments}}
	return rl.Message{Role: rl.RoleAssistant, ToolCalls: []rl.ToolCall{call}}
}

// answered returns the tool's reply to call id: its result, or its error.
func (s *Span) answered(id string) rl.Message {
	text := s.Tool.Result
	if s.Status == StatusError && text == "" {
		text = "error: " + s.Error
	}
	return rl.Message{Role: rl.RoleTool, Content: rl.Text(text), ToolCallID: id}
}

// results adds the results of the tools that the last answer called, if no later model
// call contains them.
func (t *Trace) results(out *rl.Trajectory) {
	n := len(out.Messages)
	if n == 0 {
		return
	}
	for _, call := range out.Messages[n-1].ToolCalls {
		for i := range t.All {
			if s := &t.All[i]; s.Kind == KindTool && call.ID != "" && s.Tool.CallID == call.ID {
				out.Messages = append(out.Messages, s.answered(call.ID))
				break
			}
		}
	}
}

// info returns the info of a step that was made from the span.
func (s *Span) info() map[string]json.RawMessage {
	return map[string]json.RawMessage{"span": JSON(s.ID), "agent": JSON(s.Agent), "name": JSON(s.Name), "start": JSON(s.Start), "end": JSON(s.End)}
}

// spent is the total cost of all model calls.
type spent struct {
	Calls int `json:"calls"`
	Usage
}

// spent returns nil if no model was called.
func (t *Trace) spent() *spent {
	var sum spent
	for i := range t.All {
		p := t.All[i].Prompt
		if p == nil {
			continue
		}
		sum.Calls++
		if p.Usage != nil {
			sum.PromptTokens += p.Usage.PromptTokens
			sum.CompletionTokens += p.Usage.CompletionTokens
		}
	}
	if sum.Calls == 0 {
		return nil
	}
	return &sum
}
