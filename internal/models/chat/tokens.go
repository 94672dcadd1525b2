package chat

import (
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// tokenProb is one entry of logprobs.content.
type tokenProb struct {
	ID      *int32   `json:"id"` // llama.cpp
	LogProb *float64 `json:"logprob"`
}

// rounding is how far above 0 the log-probability of a nearly certain token can be in single
// precision or less. Such values count as 0.
const rounding = 1e-3

// tokens reads ids and log-probabilities: everything that was requested, or it returns an
// error.
func (c *Client) tokens(r *Response, w *completion, q *Request) *fault.Error {
	choice := &w.Choices[0]
	r.Prompt = w.Prompt
	if r.Prompt == nil {
		r.Prompt = choice.Prompt
	}
	ids := choice.Tokens
	if f := c.ids(r.Prompt, "prompt"); f != nil {
		return f
	}
	if f := c.ids(ids, "answer"); f != nil {
		return f
	}
	if c.config.TokenIDs && (ids == nil || r.Prompt == nil) {
		return c.odd("set token_ids: false, or use a server that supports return_token_ids: vLLM 0.10.2 or newer, or a recent SGLang", "token ids were requested, and the answer has none")
	}
	if !q.LogProbs {
		return nil
	}
	var probs []tokenProb
	if choice.LogProbs != nil {
		probs = choice.LogProbs.Content
	}
	if len(probs) == 0 && (len(ids) > 0 || r.Usage.Completion > 0 || r.Text != "") {
		return c.odd("check whether a setting of the server enables log-probabilities; some servers disable them with tools or reasoning", "log-probabilities were requested, and the answer has none")
	}
	if ids != nil && len(ids) != len(probs) {
		return c.odd("update the server", "the answer has %d token ids and %d log-probabilities", len(ids), len(probs))
	}
	return c.join(r, ids, probs)
}

// join checks log-probabilities and combines them with ids, if there are any.
func (c *Client) join(r *Response, ids []int32, probs []tokenProb) *fault.Error {
	r.LogProbs = make([]float64, len(probs))
	tokens := make([]rl.Token, len(probs))
	known := true
	for i, p := range probs {
		switch {
		case p.LogProb == nil || math.IsNaN(*p.LogProb) || math.IsInf(*p.LogProb, 0):
			return c.again(fault.Protocol, "the model computes invalid numbers: check its weights and the server's precision", "the log-probability of token %d of the answer is not a number", i)
		case *p.LogProb > rounding:
			return c.again(fault.Protocol, "the model computes invalid numbers: check its weights and the server's precision", "the log-probability of token %d of the answer is %g, which is above 0", i, *p.LogProb)
		case p.ID != nil && *p.ID < 0:
			return c.odd("update the server", "token %d of the answer has the id %d", i, *p.ID)
		}
		r.LogProbs[i] = min(*p.LogProb, 0)
		tokens[i].LogProb = r.LogProbs[i]
		switch {
		case ids != nil:
			tokens[i].ID = ids[i]
		case p.ID != nil:
			tokens[i].ID = *p.ID
		default:
			known = false
		}
	}
	if known && len(tokens) > 0 {
		r.Tokens = tokens
	}
	return nil
}

// ids returns an error if an id is not a valid token id.
func (c *Client) ids(ids []int32, of string) *fault.Error {
	for i, id := range ids {
		if id < 0 {
			return c.odd("update the server", "token %d of the %s has the id %d", i, of, id)
		}
	}
	return nil
}
