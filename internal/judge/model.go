package judge

import (
	"context"
	"encoding/json"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Model is the language model behind a judge. It is safe for concurrent use.
// Its errors are *fault.Error of the boundary fault.Model; it has tried again
// what was worth it. One that is ErrTooLong or ErrUnusable is about this question,
// whoever answers it; ErrClosed means that no question will be answered any more;
// any other means that the model is away.
type Model interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one request. Equal questions are equal bytes of JSON.
type Question struct {
	Messages    []rl.Message    `json:"messages"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema that the answer must fit
	Seed        int64           `json:"seed"`   // 0 … 2³¹−1
	Temperature float64         `json:"temperature"`
	MaxTokens   int             `json:"max_tokens"`
}

// Answer is what a model said.
type Answer struct {
	Text string `json:"text"`
	// JSON is the document that the client found in Text, if it looked for one
	// in more places than all of Text.
	JSON  json.RawMessage `json:"json,omitempty"`
	Cut   bool            `json:"cut,omitempty"` // it ended at Question.MaxTokens
	Model string          `json:"model,omitempty"`
	Usage Usage           `json:"usage"`
}

// Usage is what an answer cost.
type Usage = reward.Usage
