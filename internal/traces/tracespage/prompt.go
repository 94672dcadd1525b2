package tracespage

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Prompt is a model call. A conversation grows call by call, so a call shows what is
// new in it, and how many messages it had before.
type Prompt struct {
	Model    string       `json:"model,omitempty"`
	Messages int          `json:"messages"` // total number
	Before   int          `json:"before"`   // how many of them are in the previous call of the agent in its branch, or in its answer
	New      []Message    `json:"new"`      // the messages after Before, at most PageMessages
	Answer   *Message     `json:"answer,omitempty"`
	Others   []Message    `json:"others,omitempty"`
	Finish   string       `json:"finish_reason,omitempty"`
	Usage    *trace.Usage `json:"usage,omitempty"`
	Settings *Text        `json:"settings,omitempty"`
	Tools    *Text        `json:"tools,omitempty"`
	LogProb  *float64     `json:"log_prob,omitempty"` // nats, of the whole answer, if the server returned it
	Tokens   int          `json:"tokens,omitempty"`   // number of tokens in LogProb
}

// Message is a message of a conversation.
type Message struct {
	Index   int    `json:"index"` // in the call's messages; -1 for an answer
	Role    string `json:"role"`
	Name    string `json:"name,omitempty"`
	Content *Text  `json:"content,omitempty"`
	Other   *Text  `json:"other,omitempty"` // parts that are not text, as JSON
	Calls   []Call `json:"calls,omitempty"`
	Answers string `json:"answers,omitempty"` // for a tool's message: the id of the call that it answers
}

// Call is a request to run a tool.
type Call struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments *Text  `json:"arguments,omitempty"`
}

// Messages returns at most PageMessages messages of a call, starting at index from.
func Messages(t *trace.Trace, span string, from int) []Message {
	v := viewer{trace: t}
	for i := range t.All {
		if s := &t.All[i]; s.ID == span && s.Prompt != nil {
			from = max(0, min(from, len(s.Prompt.Messages)))
			return v.messages(s.Prompt.Messages[from:min(from+PageMessages, len(s.Prompt.Messages))], from)
		}
	}
	return []Message{}
}

func (v *viewer) prompt(s *trace.Span) *Prompt {
	p := s.Prompt
	out := &Prompt{
		Model: p.Model, Messages: len(p.Messages), Before: known(p.Messages, v.before.Before(s)), Finish: p.Finish, Usage: p.Usage,
		Settings: v.clip.maybe(string(p.Settings), "prompt.settings"), Tools: v.clip.maybe(string(p.Tools), "prompt.tools"),
	}
	fresh := p.Messages[out.Before:]
	out.New = v.messages(fresh[:min(PageMessages, len(fresh))], out.Before)
	if p.Answer != nil {
		m := v.message(p.Answer, -1, "prompt.answer")
		out.Answer = &m
	}
	for i := range p.Others {
		out.Others = append(out.Others, v.message(&p.Others[i], -1, "prompt.others", i))
	}
	if out.Tokens = len(p.Tokens); out.Tokens > 0 {
		sum := 0.0
		for _, t := range p.Tokens {
			sum += t.LogProb
		}
		out.LogProb = &sum
	}
	return out
}

// remember keeps the conversation that the agent's next call may continue.
func (v *viewer) remember(s *trace.Span) {
	if p := s.Prompt; p != nil && p.Answer != nil {
		v.before.Add(s)
	}
}

// messages converts messages of a call; the first has number first.
func (v *viewer) messages(all []rl.Message, first int) []Message {
	out := make([]Message, len(all))
	for i := range all {
		out[i] = v.message(&all[i], first+i, "prompt.messages", first+i)
	}
	return out
}

func (v *viewer) message(m *rl.Message, index int, part ...any) Message {
	at := v.clip.name(part)
	out := Message{Index: index, Role: m.Role, Name: m.Name, Content: v.clip.maybe(m.Content.Text(), at), Answers: m.ToolCallID}
	if others := otherParts(m.Content.Parts()); others != "" {
		out.Other = v.clip.maybe(others, at, "other")
	}
	for i, c := range m.ToolCalls {
		out.Calls = append(out.Calls, Call{c.ID, c.Function.Name, v.clip.maybe(c.Function.Arguments, at, "calls", i)})
	}
	return out
}

// known returns the length of the common prefix of messages and an earlier conversation.
func known(messages, before []rl.Message) int {
	n := 0
	for n < len(messages) && n < len(before) && trace.Same(messages[n], before[n]) {
		n++
	}
	return n
}

// otherParts returns the parts of a content that are not text, as a JSON list.
func otherParts(parts json.RawMessage) string {
	var all, others []json.RawMessage
	if len(parts) == 0 || strictjson.Unmarshal(parts, &all) != nil {
		return ""
	}
	for _, p := range all {
		var kind struct {
			Type string `json:"type"`
		}
		if strictjson.Unmarshal(p, &kind) != nil || kind.Type != "text" {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return ""
	}
	text, err := json.Marshal(others)
	if err != nil {
		return ""
	}
	return string(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
