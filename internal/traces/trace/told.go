package trace

import (
	"cmp"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
)

// told adds what agents did where no call of a model was recorded: a run of a
// tool is a call and its result, and what was answered or made is a message of
// the agent. Votes, and what was thought, stand in the metadata only.
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

// call is a run of a tool as the message that asks for it.
func (s *Span) call() rl.Message {
	call := rl.ToolCall{ID: cmp.Or(s.Tool.CallID, s.ID), Type: "function", Function: rl.FunctionCall{Name: s.Name, Arguments: s.Tool.Arguments}}
	return rl.Message{Role: rl.RoleAssistant, ToolCalls: []rl.ToolCall{call}}
}

// answered is what a tool said to the call id: its result, or its error.
func (s *Span) answered(id string) rl.Message {
	text := s.Tool.Result
	if s.Status == StatusError && text == "" {
		text = "error: " + s.Error
	}
	return rl.Message{Role: rl.RoleTool, Content: rl.Text(text), ToolCallID: id}
}

// results adds what the tools said that the last answer called, where no later
// call of a model shows it.
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

// info is what a step says of the span that it was.
func (s *Span) info() map[string]json.RawMessage {
	return map[string]json.RawMessage{"span": JSON(s.ID), "agent": JSON(s.Agent), "name": JSON(s.Name), "start": JSON(s.Start), "end": JSON(s.End)}
}

// spent is what the calls of models cost together.
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
