package openai

import (
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
)

// item is an item of the input or output of the responses API.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // a text or a list of parts
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Summary   []part          `json:"summary"`
}

type part struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// readInput returns the input of the responses API as messages.
func readInput(instructions, input json.RawMessage) (m []rl.Message, err error) {
	var text string
	if strictjson.Unmarshal(instructions, &text) == nil && text != "" {
		m = append(m, rl.Message{Role: rl.RoleSystem, Content: rl.Text(text)})
	}
	if strictjson.Unmarshal(input, &text) == nil {
		return append(m, rl.Message{Role: rl.RoleUser, Content: rl.Text(text)}), nil
	}
	var items []item
	if err := strictjson.Unmarshal(input, &items); err != nil {
		return m, err
	}
	for i := range items {
		m = items[i].onto(m)
	}
	return m, nil
}

// onto appends the item to a conversation. Tool calls join the preceding message of
// the assistant, as in chat completions.
func (t *item) onto(m []rl.Message) []rl.Message {
	switch t.Type {
	case "", "message":
		return append(m, rl.Message{Role: t.Role, Content: rl.Text(plainText(t.Content))})
	case "function_call":
		if n := len(m); n == 0 || m[n-1].Role != rl.RoleAssistant {
			m = append(m, rl.Message{Role: rl.RoleAssistant})
		}
		last := &m[len(m)-1]
		last.ToolCalls = append(last.ToolCalls, rl.ToolCall{ID: t.CallID, Type: "function", Function: rl.FunctionCall{Name: t.Name, Arguments: t.Arguments}})
	case "function_call_output":
		return append(m, rl.Message{Role: rl.RoleTool, ToolCallID: t.CallID, Content: rl.Text(plainText(t.Output))})
	}
	return m
}

func plainText(raw json.RawMessage) string {
	var text string
	var parts []part
	if strictjson.Unmarshal(raw, &text) != nil && strictjson.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			text += p.Text + p.Refusal
		}
	}
	return text
}

// refusalOf returns the refusals among the parts of a message.
func refusalOf(raw json.RawMessage) (text string) {
	var parts []part
	if strictjson.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			text += p.Refusal
		}
	}
	return text
}

// response is an answer of the responses API.
type response struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Output     []item          `json:"output"`
	Usage      *usage          `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// event is an event of its stream. The last one has the whole response.
type event struct {
	Type     string    `json:"type"`
	Delta    string    `json:"delta"`
	Message  string    `json:"message"` // of an error
	Response *response `json:"response"`
}

// readResponse assembles an answer of the responses API; see readChunks.
func readResponse(body []byte, stream bool) (a dialect.Answer, complete bool) {
	if !stream {
		var r response
		var read dialect.Answer
		whole := read.Read(body, &r)
		a, complete = r.answer()
		a.Broken = read.Broken
		return a, whole && complete
	}
	var partial strings.Builder
	var read dialect.Answer
	defer func() { a.Broken, a.Problems = read.Broken, append(a.Problems, read.Problems...) }()
	dialect.Events(body, func(data []byte) {
		var e event
		if !read.ReadEvent(data, &e) {
			return
		}
		switch e.Type {
		case "response.output_text.delta", "response.refusal.delta":
			partial.WriteString(e.Delta)
		case "response.completed", "response.incomplete", "response.failed":
			if e.Response != nil {
				a, complete = e.Response.answer()
			}
		case "error":
			a.Failure = e.Message
		}
	})
	if len(a.Choices) == 0 && partial.Len() > 0 {
		a.Choice(0).Text = []byte(partial.String())
	}
	return a, complete
}

func (r *response) answer() (a dialect.Answer, complete bool) {
	(&chunk{ID: r.ID, Model: r.Model, Usage: r.Usage, Error: r.Error}).onto(&a)
	var m []rl.Message
	s := dialect.Choice{Role: rl.RoleAssistant, Finish: r.Status}
	for i := range r.Output {
		if t := &r.Output[i]; t.Type == "reasoning" {
			for _, p := range t.Summary {
				s.Thoughts = append(s.Thoughts, p.Text...)
			}
			s.Thoughts = append(s.Thoughts, plainText(t.Content)...)
		} else {
			m = t.onto(m)
			s.Refusal = append(s.Refusal, refusalOf(t.Content)...)
		}
	}
	for i := range m {
		s.Text = append(s.Text, m[i].Content.Text()...)
		s.Calls = append(s.Calls, m[i].ToolCalls...)
	}
	if len(s.Calls) > 0 && r.Status == "completed" {
		s.Finish = "tool_calls"
	}
	if r.Incomplete != nil {
		s.Finish = r.Incomplete.Reason
	}
	a.Choices = append(a.Choices, s)
	return a, a.Failure == "" && (r.Status == "completed" || r.Status == "incomplete")
}
