package chat

import "github.com/merit-rl/merit/core/rl"

// Response is the model's answer.
type Response struct {
	Text      string
	Reasoning string // what a server keeps apart as the model's thoughts
	Refusal   string // what a model says in place of an answer that it will not give
	ToolCalls []rl.ToolCall
	Finish    Finish

	Prompt   []int32    // ids of all tokens that the model was given; nil if the server gives none
	Tokens   []rl.Token // as sampled; nil without ids or without Request.LogProbs
	LogProbs []float64  // of each token, nats; nil without Request.LogProbs

	Usage       Usage
	Cost        float64 // by the prices of the configuration
	Model       string  // as the server calls it
	Fingerprint string  // of the server's build and settings, if it gives one
	Replayed    bool    // from a cassette: nothing was used or spent now
}

// LogProb is that of the whole answer, in nats.
func (r *Response) LogProb() (sum float64) {
	for _, p := range r.LogProbs {
		sum += p
	}
	return sum
}

// Usage counts tokens.
type Usage struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"` // of Prompt: the server had computed them before
	Completion int `json:"completion"`
}

// Finish is why an answer ended.
type Finish string

// The closed set of reasons.
const (
	FinishStop      Finish = "stop"
	FinishLength    Finish = "length" // MaxTokens, or the end of the context
	FinishToolCalls Finish = "tool_calls"
	FinishFilter    Finish = "content_filter" // what there is of the answer is not the model's whole answer
)
