package openai

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
)

// APIs are the calls that the package reads, longer paths first, because some are
// suffixes of others.
func APIs() []dialect.API {
	const form, last = "OpenAI's", "data: [DONE]"
	return []dialect.API{
		{Path: "chat/completions", Form: form, Last: last, Request: readChat, Answer: readChunks},
		{Path: "completions", Form: form, Last: last, Request: readCompletions, Answer: readChunks},
		{Path: "responses", Form: form, Last: last, Request: readResponses, Answer: readResponse},
	}
}

func readChat(body []byte) (q dialect.Request, err error) {
	return read(body, func(q *dialect.Request, take func(name string) json.RawMessage) error {
		var m []rl.Message
		err := strictjson.Unmarshal(take("messages"), &m)
		q.Prompts = [][]rl.Message{m}
		return err
	})
}

func readCompletions(body []byte) (q dialect.Request, err error) {
	return read(body, func(q *dialect.Request, take func(name string) json.RawMessage) (err error) {
		q.Prompts, q.Tokens, err = texts(take("prompt"))
		return err
	})
}

func readResponses(body []byte) (q dialect.Request, err error) {
	return read(body, func(q *dialect.Request, take func(name string) json.RawMessage) error {
		_ = strictjson.Unmarshal(q.Settings["previous_response_id"], &q.Previous)
		m, err := readInput(take("instructions"), take("input"))
		q.Prompts = [][]rl.Message{m}
		return err
	})
}

// read reads what all calls share, and their prompts by another function.
func read(body []byte, prompts func(q *dialect.Request, take func(name string) json.RawMessage) error) (dialect.Request, error) {
	q, take, err := dialect.Fields(body)
	if err != nil {
		return q, err
	}
	take("api_key")
	take("functions")
	if n := 0; strictjson.Unmarshal(q.Settings["n"], &n) == nil && n > 1 {
		q.Choices = n
	}
	return q, prompts(&q, take)
}

// texts reads the prompt of completions: a text, tokens, or a list of either.
func texts(raw json.RawMessage) (prompts [][]rl.Message, tokens [][]int32, err error) {
	var one string
	var many []string
	var ids []int32
	switch {
	case strictjson.Unmarshal(raw, &one) == nil:
		many = []string{one}
	case strictjson.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		return [][]rl.Message{{}}, [][]int32{ids}, nil
	case strictjson.Unmarshal(raw, &tokens) == nil && len(tokens) > 0:
		return make([][]rl.Message, len(tokens)), tokens, nil
	default:
		if err := strictjson.Unmarshal(raw, &many); err != nil {
			return nil, nil, err
		}
	}
	for _, text := range many {
		prompts = append(prompts, []rl.Message{{Role: rl.RoleUser, Content: rl.Text(text)}})
	}
	return prompts, nil, nil
}
