package trace

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
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

// tools finds the results of tool calls that only the span of the tool has.
type tools struct {
	sent map[string]bool  // ids of calls whose results a model call contains
	byID map[string]*Span // spans of tools, by the call that they answer
	free []*Span          // spans of tools that do not name a call
}

// ran returns the tools that the trace's agents ran.
func (t *Trace) ran() tools {
	r := tools{sent: map[string]bool{}, byID: map[string]*Span{}}
	for i := range t.All {
		s := &t.All[i]
		switch {
		case s.Kind == KindTool && s.Tool.CallID != "":
			r.byID[s.Tool.CallID] = s
		case s.Kind == KindTool:
			r.free = append(r.free, s)
		case s.Kind == KindPrompt:
			for _, m := range s.Prompt.Messages {
				if m.ToolCallID != "" {
					r.sent[m.ToolCallID] = true
				}
			}
		}
	}
	return r
}

// results returns the results of the tools that the answer of call i asked for, unless a
// model call contains them. Each result is returned once.
func (r *tools) results(t *Trace, i int) (out []rl.Message) {
	for _, call := range t.All[i].Prompt.Answer.ToolCalls {
		if call.ID == "" || r.sent[call.ID] {
			continue
		}
		s := r.byID[call.ID]
		if s == nil {
			at := slices.IndexFunc(r.free, func(s *Span) bool { return s.Name == call.Function.Name && !s.Start.Before(t.All[i].Start) })
			if at < 0 {
				continue
			}
			s = r.free[at]
			r.free = slices.Delete(r.free, at, at+1)
		}
		r.sent[call.ID] = true
		if m := s.answered(call.ID); !t.repeats(i, m.Content.Text()) {
			out = append(out, m)
		}
	}
	return out
}

// repeats reports whether the agent's next call after call i in its branch contains a result as text:
// some agents return results as messages of the user, without the call's id.
func (t *Trace) repeats(i int, result string) bool {
	for j := i + 1; j < len(t.All) && result != ""; j++ {
		s := &t.All[j]
		if s.Kind == KindPrompt && s.conversation() == t.All[i].conversation() {
			return slices.ContainsFunc(Added(t.All[i].Prompt.Messages, s.Prompt.Messages), func(m rl.Message) bool {
				return (m.Role == rl.RoleTool || m.Role == rl.RoleUser) && strings.Contains(m.Content.Text(), result)
			})
		}
	}
	return false
}

// AttrCacheRead is the attribute of a call with the number of prompt tokens that its server read from
// a cache.
const AttrCacheRead = "cache_read_tokens"

// AttrInfo is the attribute with the info of the step of a trajectory that the span was made from.
const AttrInfo = "info"

// AttrAfter is the attribute of an agent's last call with the messages of the trajectory that
// follow its answer, if the span was made from a trajectory.
const AttrAfter = "after"

// after returns those messages.
func (s *Span) after() (messages []rl.Message) {
	_ = strictjson.Unmarshal(s.Attributes[AttrAfter], &messages) // absent, or of another recorder
	return messages
}

// info returns the info of a step that was made from the span.
func (s *Span) info() map[string]json.RawMessage {
	info := map[string]json.RawMessage{}
	_ = strictjson.Unmarshal(s.Attributes[AttrInfo], &info) // absent, or of another recorder
	maps.Copy(info, map[string]json.RawMessage{"span": JSON(s.ID), "agent": JSON(s.Agent), "name": JSON(s.Name), "start": JSON(s.Start), "end": JSON(s.End)})
	if s.Parent != "" {
		info["parent"] = JSON(s.Parent)
	}
	return info
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
