package prompt

import "github.com/merit-rl/merit/internal/models/chat"

// What is asked and answered.
type (
	// Model is a language model. Its errors end the search but for those that are
	// about one question alone: see Entry.Refused.
	Model = chat.Model
	// Question is one request.
	Question = chat.Question
	// Answer is what a model said.
	Answer = chat.Answer
)

// Usage counts tokens.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Tokens is the sum of both.
func (u Usage) Tokens() int64 { return u.PromptTokens + u.CompletionTokens }

// Bounds of what is taken from a model.
const (
	maxAnswer   = 1 << 20  // bytes of an answer to a task
	maxCritique = 4 << 10  // bytes of a critique
	maxReason   = 1 << 10  // bytes of why there is no score
	maxShown    = 6 << 10  // bytes of one text of an example, as the editor sees it
	maxStart    = 32 << 10 // bytes of a prompt
)
