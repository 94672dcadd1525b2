package trace

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
)

// Cut returns the longest prefix of text in valid UTF-8 with at most most bytes.
func Cut(text string, most int) string {
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

// Fit shortens the texts of s to the limits, and reports whether it changed any. It
// copies the messages that it changes.
func Fit(s *Span) (changed bool) {
	text := func(t *string, most int) {
		if now := Cut(*t, most); now != *t {
			*t, changed = now, true
		}
	}
	message := func(m *rl.Message) *rl.Message {
		now := Cut(m.Content.Text(), MaxText)
		if now == m.Content.Text() {
			return m
		}
		short := *m
		short.Content, changed = rl.Text(now), true
		return &short
	}
	messages := func(list []rl.Message) []rl.Message {
		for i := range list {
			if m := message(&list[i]); m != &list[i] {
				list = slices.Clone(list)
				list[i] = *m
			}
		}
		return list
	}
	text(&s.Name, MaxName)
	text(&s.Agent, MaxName)
	text(&s.Text, MaxText)
	text(&s.Error, MaxText)
	if t := s.Tool; t != nil {
		text(&t.Arguments, MaxText)
		text(&t.Result, MaxText)
	}
	if p := s.Prompt; p != nil {
		text(&p.Model, MaxName)
		p.Messages, p.Others = messages(p.Messages), messages(p.Others)
		if p.Answer != nil {
			p.Answer = message(p.Answer)
		}
	}
	return changed
}
