package openai

import "github.com/merit-rl/merit/internal/traces/proxy/dialect"

// logProbs has the log-probabilities of sampled tokens: content in the form of chat
// completions, the lists in that of completions.
type logProbs struct {
	Content []dialect.Probability `json:"content"`
	Texts   []string              `json:"tokens"`
	Values  []*float64            `json:"token_logprobs"`
}

func (c *choice) tokens(s *dialect.Choice) {
	s.Tokens = append(s.Tokens, c.Tokens...)
	if c.LogProbs == nil {
		return
	}
	s.Probs = append(s.Probs, c.LogProbs.Content...)
	for i, value := range c.LogProbs.Values {
		p := dialect.Probability{LogProb: value}
		if i < len(c.LogProbs.Texts) {
			p.Text = c.LogProbs.Texts[i]
		}
		s.Probs = append(s.Probs, p)
	}
}
