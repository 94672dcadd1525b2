package trace

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// fit makes what an agent said fit to be kept: texts in UTF-8 and not too long. Its
// own messages stay as they are.
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

// problem notes what went wrong with recording.
func (s *Span) problem(what string) {
	if s.Attributes == nil {
		s.Attributes = map[string]json.RawMessage{}
	}
	s.Attributes["problem"] = trace.JSON(what)
}

func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it does not fail
	return hex.EncodeToString(b)
}
