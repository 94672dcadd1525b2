package trace

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// fit makes the span valid: texts become UTF-8 and are cut to the limits. The
// agent's own messages are not changed.
func (s *Span) fit() {
	trace.Fit(&s.Span)
	s.Name = cmp.Or(s.Name, string(s.Kind))
	if s.Kind == trace.KindTool && s.Tool == nil {
		s.Tool = &trace.Tool{}
	}
	if s.Kind == trace.KindPrompt && s.Prompt == nil {
		s.Prompt = &trace.Prompt{}
	}
	if p := s.Prompt; p != nil && p.Messages == nil {
		p.Messages = []rl.Message{}
	}
}

// problem records an error of recording.
func (s *Span) problem(what string) {
	if s.Attributes == nil {
		s.Attributes = map[string]json.RawMessage{}
	}
	s.Attributes["problem"] = trace.JSON(what)
}

func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
