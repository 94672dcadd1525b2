package action

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// How models of the Hermes and Qwen families write a call in their text.
const (
	openCall  = "<tool_call>"
	closeCall = "</tool_call>"
)

// spoken returns the calls that are written in text. The last one may lack its
// closing tag, because servers cut it off as a stop word.
func spoken(text string) (calls []rl.ToolCall, problem string) {
	for {
		_, rest, ok := strings.Cut(text, openCall)
		if !ok {
			break
		}
		if len(calls) == maxCalls {
			return nil, fmt.Sprintf("The answer has more than %d tool calls.", maxCalls)
		}
		d := decode(rest, maxJSON)
		object, _ := d.value.(map[string]any)
		name, _ := object["name"].(string)
		if d.err != nil || name == "" {
			return nil, callForm
		}
		// A map and not a struct, whose keys would match in any case.
		var parts map[string]json.RawMessage
		if err := strictjson.Unmarshal([]byte(d.text), &parts); err != nil || parts["arguments"] == nil {
			return nil, callForm
		}
		call := rl.ToolCall{Function: rl.FunctionCall{Name: name, Arguments: string(parts["arguments"])}}
		if quoted, is := object["arguments"].(string); is {
			call.Function.Arguments = quoted
		}
		if text, ok = strings.CutPrefix(strings.TrimSpace(rest[len(d.text):]), closeCall); !ok && text != "" {
			return nil, callForm
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return nil, "The answer calls no tool. " + callForm
	}
	return calls, ""
}

const callForm = `A tool call must be <tool_call>{"name": "…", "arguments": {…}}</tool_call>.`
