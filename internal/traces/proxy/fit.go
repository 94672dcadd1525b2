package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// fit shortens and corrects untrusted values so that a call with a text that is too
// long or a message without a role can still be stored. It records changes in the
// attribute problem.
func fit(s *trace.Span) {
	changed := trace.Fit(s)
	s.Name = cmp.Or(s.Name, "unknown")
	if p := s.Prompt; p != nil {
		if n := len(p.Messages) - trace.MaxMessages; n > 0 {
			p.Messages, changed = p.Messages[n:], true
		}
		role := func(m *rl.Message) {
			if m.Role == "" {
				m.Role, changed = "unknown", true
			}
		}
		for i := range p.Messages {
			role(&p.Messages[i])
		}
		for i := range p.Others {
			role(&p.Others[i])
		}
		if p.Answer != nil {
			role(p.Answer)
		}
	}
	if changed {
		attribute(s, "problem", "a part was too long or not text, and was cut")
	}
}

// attribute adds an attribute to a span; if the name exists, it keeps both.
func attribute(s *trace.Span, name, value string) {
	var before string
	if strictjson.Unmarshal(s.Attributes[name], &before) == nil && before != "" {
		value = before + "; " + value
	}
	s.Attributes[name] = trace.JSON(value)
}

// without returns a text with a secret removed.
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
