package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Request is one request. Nil and zero fields are not sent, so the server's defaults apply.
type Request struct {
	// Messages is the conversation, oldest first. Servers cache the longest prefix that they
	// have seen: put what many requests share first.
	Messages []rl.Message
	// Tools is OpenAI's JSON list of tools; ToolChoice is auto, none or required.
	Tools      json.RawMessage
	ToolChoice string
	// Schema is the JSON Schema of the answer. Not every server enforces it: see Schema.Parse.
	Schema json.RawMessage

	Temperature *float64
	TopP        *float64
	MaxTokens   int
	// Seed is 0 … 2³¹−1, the range that every server accepts.
	Seed *int64
	Stop []string
	// LogProbs requests the log-probability of each token. An answer without them is then an
	// error.
	LogProbs bool
}

// maxRequest is the largest request, in bytes of JSON.
const maxRequest = 32 << 20

// own are the keys of a request that Extra cannot set.
var own = []string{
	"model", "messages", "tools", "tool_choice", "response_format", "temperature", "top_p", maxTokens, maxCompletionTokens,
	"seed", "stop", "logprobs", "top_logprobs", "return_token_ids", "stream", "n",
}

// encode writes the JSON of q: the same bytes for the same request. What many requests share
// comes before what differs.
func (c *Client) encode(q *Request) ([]byte, error) {
	if f := c.check(q); f != nil {
		return nil, f
	}
	o := object{}
	o.add("model", c.config.Model, true)
	o.add("tools", q.Tools, len(q.Tools) > 0)
	o.add("tool_choice", q.ToolChoice, q.ToolChoice != "")
	o.add("response_format", responseFormat(q.Schema), len(q.Schema) > 0)
	for _, key := range slices.Sorted(maps.Keys(c.config.Extra)) {
		o.add(key, c.config.Extra[key], true)
	}
	o.add("temperature", q.Temperature, q.Temperature != nil)
	o.add("top_p", q.TopP, q.TopP != nil)
	o.add(c.config.MaxTokensField, q.MaxTokens, q.MaxTokens > 0)
	o.add("stop", q.Stop, len(q.Stop) > 0)
	o.add("logprobs", true, q.LogProbs)
	o.add("top_logprobs", 1, q.LogProbs) // llama.cpp returns none for 0, and twenty per token by default
	o.add("return_token_ids", true, c.config.TokenIDs)
	o.add("messages", q.Messages, true)
	o.add("seed", q.Seed, q.Seed != nil)
	body, err := o.end()
	switch {
	case err != nil:
		f := c.fault(fault.Invalid, "tools and schema must be JSON, content must be text or a list of parts", "the request is not JSON")
		f.Err = err
		return nil, f
	case len(body) > maxRequest:
		return nil, c.fault(fault.Invalid, "shorten the conversation", "the request has %d bytes; the limit is %d", len(body), maxRequest)
	}
	return body, nil
}

func (c *Client) check(q *Request) *fault.Error {
	bad := func(format string, args ...any) *fault.Error {
		return c.fault(fault.Invalid, "correct the request", format, args...)
	}
	switch {
	case len(q.Messages) == 0:
		return bad("the conversation is empty")
	case q.Temperature != nil && !(*q.Temperature >= 0 && *q.Temperature <= 100):
		return bad("temperature is %v; use 0 or more, such as 1", *q.Temperature)
	case q.TopP != nil && !(*q.TopP > 0 && *q.TopP <= 1):
		return bad("top_p is %v; use more than 0 and at most 1", *q.TopP)
	case q.MaxTokens < 0:
		return bad("max_tokens is %d; use 1 or more, or 0 for the server's limit", q.MaxTokens)
	case q.Seed != nil && (*q.Seed < 0 || *q.Seed > math.MaxInt32):
		return bad("seed is %d; use 0 to %d, which every server accepts", *q.Seed, math.MaxInt32)
	case q.ToolChoice != "" && !slices.Contains([]string{"auto", "none", "required"}, q.ToolChoice):
		return bad("tool_choice is %q; use auto, none or required", plain(q.ToolChoice, 40))
	}
	return nil
}

// bytesPerToken is the usual size of a token of English text, in bytes.
const bytesPerToken = 4

// estimate returns the approximate number of tokens of a request, including the whole answer.
func (q *Request) estimate(body []byte) int { return len(body)/bytesPerToken + q.MaxTokens }

func responseFormat(schema json.RawMessage) any {
	type named struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	}
	return struct {
		Type       string `json:"type"`
		JSONSchema named  `json:"json_schema"`
	}{"json_schema", named{"answer", true, schema}}
}

// checkExtra reports keys of extra that contradict the rest of a request.
func checkExtra(p *fault.Problems, extra map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(own, key) {
			p.Invalid("extra."+key, "is set elsewhere", "remove it; extra cannot set the keys "+strings.Join(own, ", "))
		} else if _, err := json.Marshal(extra[key]); err != nil {
			p.Invalid("extra."+key, "is not JSON", "use text, numbers, lists and mappings")
		}
	}
}

// object writes a JSON object whose keys are in the order of add.
type object struct {
	buffer bytes.Buffer
	err    error
}

func (o *object) add(key string, value any, given bool) {
	if !given || o.err != nil {
		return
	}
	if o.buffer.Len() == 0 {
		o.buffer.WriteByte('{')
	} else {
		o.buffer.WriteByte(',')
	}
	o.value(key)
	o.buffer.WriteByte(':')
	if o.value(value); o.err != nil {
		o.err = fmt.Errorf("%s: %w", key, o.err)
	}
}

func (o *object) value(value any) {
	enc := json.NewEncoder(&o.buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		o.err = err
		return
	}
	o.buffer.Truncate(o.buffer.Len() - 1) // Encode appends a line break
}

func (o *object) end() ([]byte, error) {
	o.buffer.WriteByte('}')
	return o.buffer.Bytes(), o.err
}
