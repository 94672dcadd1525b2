package prompt

import "github.com/merit-rl/merit/internal/models/chat"

// Names of package chat that searches use.
type (
	// Model is a language model. Its errors stop the search, except those that concern a
	// single question: see Entry.Refused.
	Model = chat.Model
	// Question is one request.
	Question = chat.Question
	// Answer is the response of a model.
	Answer = chat.Answer
)

// Usage counts tokens.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Tokens returns the sum of both.
func (u Usage) Tokens() int64 { return u.PromptTokens + u.CompletionTokens }

// Limits of what is stored from a model.
const (
	maxAnswer   = 1 << 20  // bytes of an answer to a task
	maxCritique = 4 << 10  // bytes of a critique
	maxReason   = 1 << 10  // bytes of the reason for a missing score
	maxShown    = 6 << 10  // bytes of each text of an example for the editor
	maxStart    = 32 << 10 // bytes of a prompt
)
