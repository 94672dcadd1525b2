package shape

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// conversation converts items of OpenAI's Responses API to chat messages, as NeMo Gym's own
// converter does (responses_converter.py). One turn of the model becomes one assistant message,
// with its reasoning in <think> tags, its text and its tool calls. Unlike that converter, it
// treats a refusal as text, because the model said it.
type conversation struct {
	*decoder
	messages []rl.Message
	turn     *rl.Message // the assistant's turn to which items are being added
	said     strings.Builder
}

// item is the union of the fields of items that Merit reads.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// instructions adds the model's instructions as a system message.
func (w *conversation) instructions(params object) {
	if raw := params.get("instructions"); raw != nil {
		if text, ok := w.text("responses_create_params.instructions", raw); ok {
			w.say(rl.Message{Role: rl.RoleSystem, Content: rl.Text(text)})
		}
	}
}

// input reads the prompt, which is a text or a list of items.
func (w *conversation) input(raw json.RawMessage) {
	const where = "responses_create_params.input"
	if len(raw) > 0 && raw[0] == '"' {
		text, _ := w.text(where, raw)
		w.say(rl.Message{Role: rl.RoleUser, Content: rl.Text(text)})
		return
	}
	w.items(where, raw)
}

// items reads a list of items. The end of the list ends an open turn.
func (w *conversation) items(where string, raw json.RawMessage) {
	all, ok := w.list(where, raw)
	if !ok {
		return
	}
	for i, one := range all {
		at := index(where, i)
		var x item
		if _, ok := w.object(at, one); !ok {
			continue
		} else if err := strictjson.Unmarshal(one, &x); err != nil {
			w.wrong(at, err.Error(), "send items of OpenAI's Responses API")
			continue
		}
		w.item(at, x)
	}
	w.flush()
}

func (w *conversation) item(at string, x item) {
	if x.Type == "" && x.Role != "" {
		x.Type = "message"
	}
	switch x.Type {
	case "message":
		w.message(at, x)
	case "reasoning":
		w.open()
		for _, s := range x.Summary {
			if s.Text != "" {
				w.said.WriteString("<think>" + s.Text + "</think>")
			}
		}
	case "function_call":
		w.call(at, x, x.Arguments)
	case "custom_tool_call":
		w.call(at, x, x.Input)
	case "function_call_output", "custom_tool_call_output":
		if x.CallID == "" {
			w.wrong(at+".call_id", "the call_id is missing", "name the call that produced this output")
		}
		content, _ := w.content(at+".output", x.Output)
		w.say(rl.Message{Role: rl.RoleTool, Content: content, ToolCallID: x.CallID})
	default:
		w.wrong(at+".type", fmt.Sprintf("%.64q is not supported", x.Type),
			"use message, reasoning, function_call, function_call_output, custom_tool_call or custom_tool_call_output")
	}
}

func (w *conversation) message(at string, x item) {
	if x.Role == "" {
		w.wrong(at+".role", "the role is missing", "use system, developer, user or assistant")
	}
	content, text := w.content(at+".content", x.Content)
	if x.Role != rl.RoleAssistant {
		w.say(rl.Message{Role: x.Role, Content: content})
		return
	}
	w.open()
	w.said.WriteString(text)
}

// call adds a tool call to the turn.
func (w *conversation) call(at string, x item, arguments string) {
	if x.Name == "" {
		w.wrong(at+".name", "the name is missing", "name the tool of the call")
	}
	if x.CallID == "" {
		w.wrong(at+".call_id", "the call_id is missing", "add the id with which the call's output refers to it")
	}
	w.open()
	w.turn.ToolCalls = append(w.turn.ToolCalls, rl.ToolCall{
		ID: x.CallID, Type: "function", Function: rl.FunctionCall{Name: x.Name, Arguments: arguments},
	})
}

func (w *conversation) open() {
	if w.turn == nil {
		w.turn = &rl.Message{Role: rl.RoleAssistant}
	}
}

// say adds a complete message.
func (w *conversation) say(m rl.Message) {
	w.flush()
	w.messages = append(w.messages, m)
}

// flush ends the assistant's turn.
func (w *conversation) flush() {
	if w.turn != nil {
		w.turn.Content = rl.Text(w.said.String())
		w.messages = append(w.messages, *w.turn)
	}
	w.turn = nil
	w.said.Reset()
}
