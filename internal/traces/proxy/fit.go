package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// fit makes what strangers sent fit to be kept: whole calls are not lost for a
// text that is too long or a message without a role. What was changed is said
// in the attribute problem.
func fit(s *trace.Span) {
	changed := false
	text := func(t *string, most int) {
		if now := cut(*t, most); now != *t {
			*t, changed = now, true
		}
	}
	message := func(m *rl.Message) {
		if m.Role == "" {
			m.Role, changed = "unknown", true
		}
		if now := cut(m.Content.Text(), trace.MaxText); now != m.Content.Text() {
			m.Content, changed = rl.Text(now), true
		}
	}
	text(&s.Name, trace.MaxName)
	if s.Name == "" {
		s.Name = "unknown"
	}
	text(&s.Text, trace.MaxText)
	text(&s.Error, trace.MaxText)
	if t := s.Tool; t != nil {
		text(&t.Arguments, trace.MaxText)
		text(&t.Result, trace.MaxText)
	}
	if p := s.Prompt; p != nil {
		text(&p.Model, trace.MaxName)
		if n := len(p.Messages) - trace.MaxMessages; n > 0 {
			p.Messages, changed = p.Messages[n:], true
		}
		for i := range p.Messages {
			message(&p.Messages[i])
		}
		for i := range p.Others {
			message(&p.Others[i])
		}
		if p.Answer != nil {
			message(p.Answer)
		}
	}
	if changed {
		attribute(s, "problem", "a part was too long or no text, and is cut")
	}
}

// attribute gives a span an attribute; of one name, both are kept.
func attribute(s *trace.Span, name, value string) {
	var before string
	if strictjson.Unmarshal(s.Attributes[name], &before) == nil && before != "" {
		value = before + "; " + value
	}
	s.Attributes[name], _ = json.Marshal(value) // a text
}

func cut(text string, most int) string {
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

// without is a text without a secret.
func without(text []byte, secret string) []byte {
	if !bytes.Contains(text, []byte(secret)) {
		return text
	}
	return bytes.ReplaceAll(text, []byte(secret), []byte("[key]"))
}

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
