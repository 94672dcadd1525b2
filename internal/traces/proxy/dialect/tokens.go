package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Probability is a sampled token as a server reports it.
type Probability struct {
	Text    string   `json:"token"`
	LogProb *float64 `json:"logprob"`
	ID      *int32   `json:"id"` // llama.cpp
}

// Sampled returns the tokens with their log-probabilities, if the server sent all of
// them. Ids come with each token (llama.cpp), as token_id:N instead of the text
// (vLLM), or as a separate list.
func (s *Choice) Sampled() []trace.Token {
	if len(s.Probs) == 0 {
		return nil
	}
	tokens := make([]trace.Token, len(s.Probs))
	for i, p := range s.Probs {
		if p.LogProb == nil {
			return nil
		}
		tokens[i] = trace.Token{ID: p.ID, Text: p.Text, LogProb: *p.LogProb}
		if digits, ok := strings.CutPrefix(p.Text, "token_id:"); ok && p.ID == nil {
			if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
				id := int32(n)
				tokens[i].ID, tokens[i].Text = &id, ""
			}
		}
		if len(s.Tokens) == len(s.Probs) {
			tokens[i].ID = &s.Tokens[i]
		}
	}
	return tokens
}

// Bare returns the ids of sampled tokens without log-probabilities, which a
// trace.Token requires.
func (s *Choice) Bare() json.RawMessage {
	if len(s.Tokens) == 0 || len(s.Tokens) == len(s.Probs) {
		return nil
	}
	text, _ := json.Marshal(s.Tokens) // numbers: encoding cannot fail
	return text
}
