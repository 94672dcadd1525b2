package shape

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The actions of environments whose actions are tool calls.
const (
	ListTools = "list_tools"
	CallTool  = "call_tool"
)

// Tool describes a tool in the form of the openenv package.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Call is the action that calls a tool.
type Call struct {
	Type      string          `json:"type"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// definition describes a tool in OpenAI's form.
type definition struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// ToolsOf converts the tools in an answer to ListTools to OpenAI's
// list.
func ToolsOf(observation any) (json.RawMessage, error) {
	var list struct {
		Tools []Tool `json:"tools"`
	}
	if err := strictjson.Unmarshal(marshal(observation), &list); err != nil || list.Tools == nil {
		return nil, errors.New("the answer to list_tools has no list of tools")
	}
	all := []definition{}
	for i, t := range list.Tools {
		if t.Name == "" {
			return nil, fmt.Errorf("tools[%d] has no name", i)
		}
		all = append(all, definition{Type: "function", Function: function{Name: t.Name, Description: t.Description, Parameters: t.InputSchema}})
	}
	return marshal(all), nil
}

// ToolsFrom converts OpenAI's list of tools to the form of the openenv package.
func ToolsFrom(definitions json.RawMessage) ([]Tool, error) {
	var all []definition
	if len(definitions) > 0 {
		if err := strictjson.Unmarshal(definitions, &all); err != nil {
			return nil, err
		}
	}
	list := []Tool{}
	for _, d := range all {
		schema := d.Function.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		list = append(list, Tool{Name: d.Function.Name, Description: d.Function.Description, InputSchema: schema})
	}
	return list, nil
}
