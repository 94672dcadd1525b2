package prompt

import (
	"context"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
)

// Model is a language model. It is safe for concurrent use. Its errors are
// *fault.Error of the boundary fault.Model and end the search: it has tried
// again what was worth it. What is about one question alone is no error, see
// Answer.Refused.
type Model interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one request. Equal questions are equal bytes of JSON.
type Question struct {
	Messages    []rl.Message    `json:"messages"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema that the answer must fit; nil = any text
	Seed        int64           `json:"seed"`             // 0 … 2³¹−1
	Temperature float64         `json:"temperature"`
	MaxTokens   int             `json:"max_tokens"`
}

// Answer is what a model said.
type Answer struct {
	Text string
	// JSON is the document that was found in Text where a schema was asked for.
	JSON json.RawMessage
	Cut  bool // it ended at Question.MaxTokens
	// Refused says why this question has no answer although the model works: it
	// is too long, or a filter refuses it.
	Refused string
	Usage   Usage
}

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
