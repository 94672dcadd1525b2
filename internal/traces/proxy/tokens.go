package proxy

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// logProbs has the log-probabilities of sampled tokens: content in the form of chat
// completions, the lists in that of completions.
type logProbs struct {
	Content []probability `json:"content"`
	Texts   []string      `json:"tokens"`
	Values  []*float64    `json:"token_logprobs"`
}

type probability struct {
	Text    string   `json:"token"`
	LogProb *float64 `json:"logprob"`
	ID      *int32   `json:"id"` // llama.cpp
}

func (s *said) addTokens(c *choice) {
	s.tokens = append(s.tokens, c.Tokens...)
	if c.LogProbs == nil {
		return
	}
	s.probs = append(s.probs, c.LogProbs.Content...)
	for i, value := range c.LogProbs.Values {
		p := probability{LogProb: value}
		if i < len(c.LogProbs.Texts) {
			p.Text = c.LogProbs.Texts[i]
		}
		s.probs = append(s.probs, p)
	}
}

// sampled returns the tokens with their log-probabilities, if the server sent all of
// them. Ids come with each token (llama.cpp), as token_id:N instead of the text
// (vLLM), or as a separate list.
func (s *said) sampled() []trace.Token {
	if len(s.probs) == 0 {
		return nil
	}
	tokens := make([]trace.Token, len(s.probs))
	for i, p := range s.probs {
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
		if len(s.tokens) == len(s.probs) {
			tokens[i].ID = &s.tokens[i]
		}
	}
	return tokens
}

// bare returns the ids of sampled tokens without log-probabilities, which a
// trace.Token requires.
func (s *said) bare() json.RawMessage {
	if len(s.tokens) == 0 || len(s.tokens) == len(s.probs) {
		return nil
	}
	text, _ := json.Marshal(s.tokens) // numbers: encoding cannot fail
	return text
}
