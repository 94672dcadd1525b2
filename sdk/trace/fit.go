package trace

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// fit makes what an agent said fit to be kept: texts in UTF-8 and not too long.
func (s *Span) fit() {
	s.Name, s.Agent = fitting(s.Name, trace.MaxName), fitting(s.Agent, trace.MaxName)
	if s.Name == "" {
		s.Name = string(s.Kind)
	}
	s.Text = fitting(s.Text, trace.MaxText)
	if t := s.Tool; t != nil {
		t.Arguments, t.Result = fitting(t.Arguments, trace.MaxText), fitting(t.Result, trace.MaxText)
	}
	if s.Kind == trace.KindTool && s.Tool == nil {
		s.Tool = &trace.Tool{}
	}
	if s.Kind == trace.KindPrompt && s.Prompt == nil {
		s.Prompt = &trace.Prompt{}
	}
	if p := s.Prompt; p != nil {
		if p.Messages == nil {
			p.Messages = []rl.Message{}
		}
		for i := range p.Messages {
			if text := p.Messages[i].Content.Text(); fitting(text, trace.MaxText) != text {
				p.Messages = append([]rl.Message(nil), p.Messages...) // the agent's own stay as they are
				p.Messages[i].Content = rl.Text(fitting(text, trace.MaxText))
			}
		}
		if p.Answer != nil {
			if text := p.Answer.Content.Text(); fitting(text, trace.MaxText) != text {
				answer := *p.Answer
				answer.Content = rl.Text(fitting(text, trace.MaxText))
				p.Answer = &answer
			}
		}
	}
}

// problem notes what went wrong with recording.
func (s *Span) problem(what string) {
	if s.Attributes == nil {
		s.Attributes = map[string]json.RawMessage{}
	}
	s.Attributes["problem"] = jsonOf(what)
}

func jsonOf(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a text
	return raw
}

func fitting(text string, most int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it does not fail
	return hex.EncodeToString(b)
}
