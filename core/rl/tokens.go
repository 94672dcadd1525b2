package rl

import "slices"

// Token is one sampled token of a language model.
type Token struct {
	ID      int32   `json:"id"`
	LogProb float64 `json:"log_prob"` // at sampling time, nats
}

// Prompt is the tokens that a language model was given before a step, written
// as what they share with the step before: an episode whose conversation only
// grows costs O(its tokens), however many steps it has.
type Prompt struct {
	// Keep is how many tokens of the sequence so far, the prompt and the sampled
	// tokens of the step before, the prompt begins with. If it is all of them, the
	// step continues the same sequence.
	Keep   int     `json:"keep"`
	Tokens []int32 `json:"tokens"` // of the prompt, after those
}

// NewPrompt stores prompt as its longest common prefix with before, the sequence
// so far, and a copy of the rest. Keeping the whole prompt with every step would
// make an episode cost the square of its tokens.
func NewPrompt(before, prompt []int32) *Prompt {
	keep := 0
	for keep < len(before) && keep < len(prompt) && before[keep] == prompt[keep] {
		keep++
	}
	return &Prompt{Keep: keep, Tokens: slices.Clone(prompt[keep:])}
}

// Sequence appends the tokens of the prompt and those sampled after it to
// before[:Keep], whose memory it reuses.
func (p *Prompt) Sequence(before []int32, sampled []Token) []int32 {
	out := append(before[:p.Keep], p.Tokens...)
	for _, t := range sampled {
		out = append(out, t.ID)
	}
	return out
}
