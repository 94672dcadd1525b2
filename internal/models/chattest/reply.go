package chattest

import (
	"encoding/json"
	"math"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Answer is a chat completion, to be written as JSON.
type Answer struct {
	Text      string
	ToolCalls []rl.ToolCall
	Finish    string     // "" = stop
	Tokens    []rl.Token // with ids, as from llama.cpp, if the request asks for log-probabilities
	Prompt    int        // prompt tokens in usage
	Model     string
}

// Reply returns the reply with the answer.
func (a Answer) Reply() Reply {
	type object = map[string]any
	message := object{"role": "assistant", "content": a.Text}
	if a.ToolCalls != nil {
		message["tool_calls"] = a.ToolCalls
	}
	if a.Finish == "" {
		a.Finish = "stop"
	}
	choice := object{"index": 0, "message": message, "finish_reason": a.Finish}
	if a.Tokens != nil {
		var content []object
		for _, t := range a.Tokens {
			content = append(content, object{"id": t.ID, "token": "?", "logprob": t.LogProb})
		}
		choice["logprobs"] = object{"content": content}
	}
	body, err := json.Marshal(object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": a.Model, "choices": []object{choice},
		"usage": object{"prompt_tokens": a.Prompt, "completion_tokens": len(a.Tokens), "total_tokens": a.Prompt + len(a.Tokens)},
	})
	if err != nil {
		panic(err) // a test used a number that JSON cannot represent; write its Body by hand
	}
	return Reply{Body: string(body)}
}

// Say returns a reply with a text.
func Say(text string) Reply { return Answer{Text: text}.Reply() }

// Fail returns a reply with a status and an error in OpenAI's form.
func Fail(status int, class, message string) Reply {
	type said struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    int    `json:"code"`
	}
	body, err := json.Marshal(map[string]said{"error": {message, class, status}})
	if err != nil {
		panic(err)
	}
	return Reply{Status: status, Body: string(body)}
}

// Models returns the reply to a request for the list of models.
func Models(names ...string) Reply {
	data := []map[string]any{}
	for _, name := range names {
		data = append(data, map[string]any{"id": name, "object": "model", "max_model_len": 4096})
	}
	body, err := json.Marshal(map[string]any{"object": "list", "data": data})
	if err != nil {
		panic(err)
	}
	return Reply{Body: string(body)}
}

// HeavyTail returns the latency of the nth request: from a Pareto distribution with shape 1.5
// and the given median, whose mean is almost twice the median, truncated at 20 medians. It is
// a function of seed and n.
func HeavyTail(median time.Duration, seed rl.Seed, n int) time.Duration {
	const shape, most = 1.5, 20.0
	least := math.Pow(2, -1/shape) // Pareto's scale for a median of 1
	x := least * math.Pow(1-seed.Child(uint64(n)).Uniform(), -1/shape)
	return time.Duration(min(x, most) * float64(median))
}
