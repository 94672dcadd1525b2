package envserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/internal/openenv/share"
)

// played is an action in the form that the environment takes.
type played struct {
	share.Action
	list bool   // list the tools
	tool string // call this tool, in the form of the openenv package
}

// said is an action as a client sends it.
type said struct {
	Action    json.RawMessage `json:"action"`
	Calls     []called        `json:"tool_calls"`
	Type      string          `json:"type"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// called is a tool call: in OpenAI's form, or only name and arguments.
type called struct {
	ID       string `json:"id"`
	Function *struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// fields lists the fields that an action may have.
var fields = []string{"action", "tool_calls", "type", "tool_name", "arguments", "metadata"}

// action decodes the data of a step.
func (s *Server) action(data json.RawMessage) (played, error) {
	var object map[string]json.RawMessage
	if strictjson.Unmarshal(data, &object) != nil || object == nil {
		return played{}, invalid("data", "an action must be an object")
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(fields, key) {
			return played{}, invalid(key, fmt.Sprintf("%.60q is not a field of an action: %s", key, s.wanted()))
		}
	}
	var a said
	if err := strictjson.Unmarshal(data, &a); err != nil {
		return played{}, invalid("data", "a field has the wrong type: "+s.wanted())
	}
	switch {
	case a.Type == shape.ListTools:
		return played{list: true}, nil
	case a.Type == shape.CallTool:
		p, err := s.calls([]called{{Name: a.Tool, Arguments: a.Arguments}})
		p.tool = a.Tool
		return p, err
	case a.Type != "":
		return played{}, invalid("type", "must be list_tools or call_tool")
	case len(a.Calls) > 0:
		return s.calls(a.Calls)
	}
	return s.choose(a.Action)
}

// choose decodes an index, or a text from which the configured parser takes the
// action.
func (s *Server) choose(raw json.RawMessage) (played, error) {
	var index *int // nil means null, which is not an action
	if n := len(s.spec.Actions); n > 0 && strictjson.Unmarshal(raw, &index) == nil && index != nil {
		if *index < 0 || *index >= n {
			return played{}, invalid("action", fmt.Sprintf("%d is not an index from 0 to %d", *index, n-1))
		}
		return played{Action: share.Action{Index: *index}}, nil
	}
	var text *string
	if strictjson.Unmarshal(raw, &text) != nil || text == nil {
		return played{}, invalid("action", s.wanted())
	}
	found, problem := s.parser.Parse(*text, nil)
	if problem != "" {
		return played{}, invalid("action", problem)
	}
	return s.take(found), nil
}

// calls decodes tool calls.
func (s *Server) calls(list []called) (played, error) {
	if len(s.spec.Tools) == 0 {
		return played{}, invalid("tool_calls", "the environment has no tools: "+s.wanted())
	}
	var calls []rl.ToolCall
	for _, c := range list {
		name, arguments := c.Name, c.Arguments
		if c.Function != nil {
			name, arguments = c.Function.Name, c.Function.Arguments
		}
		text := string(arguments)
		var quoted string
		if strictjson.Unmarshal(arguments, &quoted) == nil { // OpenAI sends them as a text
			text = quoted
		}
		calls = append(calls, rl.ToolCall{ID: c.ID, Type: "function", Function: rl.FunctionCall{Name: name, Arguments: text}})
	}
	found, problem := s.caller.Parse("", calls)
	if problem != "" {
		return played{}, invalid("tool_calls", problem)
	}
	return s.take(found), nil
}

// take parses an action as a rollout does.
func (s *Server) take(a rl.Action) played {
	if len(s.spec.Actions) > 0 {
		i := int(a.Choice)
		if a.Kind != rl.ActionChoice {
			i = slices.Index(s.spec.Actions, strings.TrimSpace(a.Text))
		}
		return played{Action: share.Action{Index: i}}
	}
	if a.Kind == rl.ActionTool {
		raw, err := json.Marshal(a.ToolCalls)
		if err != nil { // only for texts
			panic(err)
		}
		return played{Action: share.Action{Text: string(raw)}}
	}
	return played{Action: share.Action{Text: a.Text}}
}

// wanted describes the format of an action.
func (s *Server) wanted() string {
	switch {
	case len(s.spec.Actions) > 0:
		return fmt.Sprintf(`send {"action": %q} or its index, one of %s`, s.spec.Actions[0], strings.Join(s.spec.Actions[:min(len(s.spec.Actions), 20)], ", "))
	case len(s.spec.Tools) > 0:
		return `send {"tool_calls": [{"name": …, "arguments": {…}}]} or {"action": TEXT}`
	}
	return `send {"action": TEXT}`
}
