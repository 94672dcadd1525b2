package chat

import "github.com/merit-rl/merit/core/rl"

// Response is the model's answer.
type Response struct {
	Text      string
	Reasoning string // the model's thoughts, if the server separates them
	Refusal   string // what a model says if it refuses to answer
	ToolCalls []rl.ToolCall
	Finish    Finish

	Prompt   []int32    // ids of all prompt tokens; nil if the server returns none
	Tokens   []rl.Token // as sampled; nil without ids or without Request.LogProbs
	LogProbs []float64  // of each token, nats; nil without Request.LogProbs

	Usage       Usage
	Cost        float64 // at the configured prices
	Model       string  // as named by the server
	Fingerprint string  // of the server's build and settings, if it reports one
	Replayed    bool    // from a cassette: no tokens were used
}

// LogProb returns the log-probability of the whole answer, in nats.
func (r *Response) LogProb() (sum float64) {
	for _, p := range r.LogProbs {
		sum += p
	}
	return sum
}

// Usage counts tokens.
type Usage struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"` // part of Prompt that was in the server's cache
	Completion int `json:"completion"`
}

// Finish is why an answer ended.
type Finish string

// The reasons.
const (
	FinishStop      Finish = "stop"
	FinishLength    Finish = "length" // MaxTokens, or the end of the context
	FinishToolCalls Finish = "tool_calls"
	FinishFilter    Finish = "content_filter" // the answer was cut off by a filter
)
