package openenv

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/sdk/plugin"
)

// moves are the messages that an action makes, one after the other: one, but
// for several calls of tools.
type move struct {
	message []byte
	tool    string // that it calls
}

// moves makes the server's actions of the policy's. A problem is what is wrong
// with the policy's, in a sentence for it to read; the server is not asked then.
func (g *game) moves(a plugin.Action) (all []move, problem string) {
	o := g.options.Action
	switch o.As {
	case asText:
		return []move{{message: shape.Encode(shape.Step, g.merged(map[string]any{o.Field: a.Text}))}}, ""
	case asChoices:
		return []move{{message: shape.Encode(shape.Step, g.merged(o.Choices[a.Index].Action))}}, ""
	case asJSON:
		return g.structured(a.Text)
	}
	return g.calls(a.Text)
}

// structured takes the JSON in a text.
func (g *game) structured(text string) ([]move, string) {
	found, problem := g.parser.Parse(text, nil)
	if problem != "" {
		return nil, problem
	}
	var object map[string]any
	if err := strictjson.Unmarshal([]byte(found.Text), &object); err != nil {
		return nil, "The action must be an object of JSON."
	}
	return []move{{message: shape.Encode(shape.Step, g.merged(object))}}, ""
}

// calls takes the list of tool calls that an environment with tools is given.
func (g *game) calls(text string) (all []move, problem string) {
	var list []rl.ToolCall
	if err := strictjson.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		return nil, "The answer calls no tool: call one of those that there are."
	}
	for _, c := range list {
		arguments := json.RawMessage(c.Function.Arguments)
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		var object map[string]any
		if strictjson.Unmarshal(arguments, &object) != nil || object == nil {
			return nil, fmt.Sprintf("The arguments of %s must be one object of JSON.", c.Function.Name)
		}
		all = append(all, move{tool: c.Function.Name, message: shape.Encode(shape.Step, shape.Call{Type: shape.CallTool, Tool: c.Function.Name, Arguments: arguments})})
	}
	return all, ""
}

// resetMessage begins the episode of a seed. Seeds of different splits are
// different, whatever the server makes of them.
func (g *game) resetMessage(seed uint64) []byte {
	r := g.options.Reset
	data := map[string]any{}
	for k, v := range r.With {
		data[k] = v
	}
	if r.SeedField != "" {
		number := map[string]uint64{plugin.Train: 0, plugin.Validation: 1, plugin.Test: 2}[g.split]
		data[r.SeedField] = (seed<<2 | number) & (1<<r.SeedBits - 1)
	}
	if r.SplitField != "" {
		data[r.SplitField] = g.split
	}
	return shape.Encode(shape.Reset, data)
}
