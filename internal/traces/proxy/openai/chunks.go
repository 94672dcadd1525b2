package openai

import (
	"cmp"
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// chunk is an answer of chat/completions or completions, or an event of its stream:
// both have the same fields, some of them in pieces.
type chunk struct {
	ID           string          `json:"id"`
	Model        string          `json:"model"`
	Choices      []choice        `json:"choices"`
	Usage        *usage          `json:"usage"`
	Error        json.RawMessage `json:"error"`
	Message      string          `json:"message"`          // of an error, from some servers
	PromptTokens []int32         `json:"prompt_token_ids"` // vLLM
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Input      int64 `json:"input_tokens"` // of the responses API
	Output     int64 `json:"output_tokens"`
}

type choice struct {
	Index        int       `json:"index"`
	Message      *piece    `json:"message"`
	Delta        *piece    `json:"delta"`
	Text         string    `json:"text"` // of completions
	Finish       string    `json:"finish_reason"`
	LogProbs     *logProbs `json:"logprobs"`
	Tokens       []int32   `json:"token_ids"`        // vLLM, SGLang
	PromptTokens []int32   `json:"prompt_token_ids"` // SGLang, and vLLM's completions
}

// piece is a message or a part of one.
type piece struct {
	Role      string     `json:"role"`
	Content   rl.Content `json:"content"`
	Refusal   string     `json:"refusal"`
	Thoughts  string     `json:"reasoning_content"`
	Reasoning string     `json:"reasoning"` // newer versions of vLLM, OpenRouter
	ToolCalls []struct {
		Index *int `json:"index"`
		rl.ToolCall
	} `json:"tool_calls"`
}

func (c *chunk) onto(a *dialect.Answer) {
	a.ID, a.Model = cmp.Or(a.ID, c.ID), cmp.Or(a.Model, c.Model)
	if c.Usage != nil {
		a.Usage = &trace.Usage{PromptTokens: cmp.Or(c.Usage.Prompt, c.Usage.Input), CompletionTokens: cmp.Or(c.Usage.Completion, c.Usage.Output)}
	}
	if len(a.Prompt) == 0 {
		a.Prompt = c.PromptTokens
	}
	if text := dialect.ErrorText(c.Error); text != "" {
		a.Failure = text
	}
	for i := range c.Choices {
		if s := a.Choice(c.Choices[i].Index); s != nil {
			c.Choices[i].onto(s)
		}
		if len(a.Prompt) == 0 && c.Choices[i].Index == 0 {
			a.Prompt = c.Choices[i].PromptTokens
		}
	}
}

func (c *choice) onto(s *dialect.Choice) {
	for _, p := range []*piece{c.Message, c.Delta} {
		if p == nil {
			continue
		}
		s.Role = cmp.Or(s.Role, p.Role)
		s.Text = append(append(s.Text, p.Content.Text()...), p.Refusal...)
		s.Refusal = append(s.Refusal, p.Refusal...)
		s.Null = s.Null || p.Content.IsNull()
		s.Thoughts = append(s.Thoughts, cmp.Or(p.Thoughts, p.Reasoning)...)
		if parts := p.Content.Parts(); c.Message != nil && parts != nil {
			s.Parts = parts
		}
		p.calls(s)
	}
	s.Text = append(s.Text, c.Text...)
	s.Finish = cmp.Or(c.Finish, s.Finish)
	c.tokens(s)
}

func (p *piece) calls(s *dialect.Choice) {
	for i, c := range p.ToolCalls {
		at := i
		if c.Index != nil {
			at = *c.Index
		}
		if at < 0 || at >= dialect.MostChoices {
			continue
		}
		for len(s.Calls) <= at {
			s.Calls = append(s.Calls, rl.ToolCall{Type: "function"})
		}
		to := &s.Calls[at]
		to.ID, to.Type = cmp.Or(to.ID, c.ID), cmp.Or(c.Type, to.Type)
		to.Function.Name = cmp.Or(to.Function.Name, c.Function.Name)
		to.Function.Arguments += c.Function.Arguments
	}
}

// readChunks assembles an answer of chat/completions or completions. complete is
// false if the answer is truncated or in an unknown form.
func readChunks(body []byte, stream bool) (a dialect.Answer, complete bool) {
	if !stream {
		var c chunk
		whole := a.Read(body, &c)
		c.onto(&a)
		if a.Failure == "" && len(a.Choices) == 0 {
			a.Failure = c.Message
		}
		return a, whole && len(a.Choices) > 0
	}
	done := dialect.Events(body, func(data []byte) {
		var c chunk
		if a.ReadEvent(data, &c) {
			c.onto(&a)
		}
	})
	for i := range a.Choices {
		if a.Choices[i].Finish == "" && !done {
			return a, false
		} else if a.Choices[i].Finish == "" {
			a.Problems = append(a.Problems, "the stream ended with [DONE], but without a finish_reason")
			break
		}
	}
	return a, len(a.Choices) > 0
}
