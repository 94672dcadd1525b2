package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// Promise: tokens are those that the server returns, in the forms of llama.cpp, vLLM, SGLang
// and OpenAI; without ids there are only log-probabilities, and nothing is invented.
func TestTokens(t *testing.T) {
	const entries = `{"content":[{"id":57,"token":"I","bytes":[73],"logprob":-2.25,"top_logprobs":[{"id":9,"token":"x","logprob":-1}]},{"id":2,"token":"","bytes":[],"logprob":0.0000004}]}`
	const bare = `{"content":[{"token":"I","logprob":-2.25},{"token":"","logprob":0}]}`
	const head, tail = `{"model":"small","system_fingerprint":null,`, `,"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`
	const message = `"index":0,"finish_reason":"length","message":{"role":"assistant","content":"I"},`
	tokens := []rl.Token{{ID: 57, LogProb: -2.25}, {ID: 2, LogProb: 0}}
	for name, c := range map[string]struct {
		body   string
		tokens []rl.Token
		prompt []int32
	}{
		"llama.cpp": {head + `"choices":[{` + message + `"logprobs":` + entries + `}]` + tail, tokens, nil},
		"vLLM":      {head + `"prompt_token_ids":[1,5,6],"choices":[{` + message + `"logprobs":` + bare + `,"token_ids":[57,2]}]` + tail, tokens, []int32{1, 5, 6}},
		"SGLang":    {head + `"choices":[{` + message + `"logprobs":` + bare + `,"token_ids":[57,2],"prompt_token_ids":[1,5,6]}]` + tail, tokens, []int32{1, 5, 6}},
		"OpenAI":    {head + `"choices":[{` + message + `"logprobs":` + bare + `}]` + tail, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := chattest.New(t, 0, always(chattest.Reply{Body: c.body}))
			client := quick(t, server.URL, func(k *chat.Config) { k.TokenIDs = c.prompt != nil })
			q := ask("x")
			q.LogProbs = true
			r, err := client.Complete(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, &chat.Response{
				Text: "I", Finish: chat.FinishLength, Prompt: c.prompt, Tokens: c.tokens, LogProbs: []float64{-2.25, 0},
				Usage: chat.Usage{Prompt: 3, Cached: 1, Completion: 2}, Model: "small",
			}, r)
			require.Equal(t, -2.25, r.LogProb())
			var sent struct {
				LogProbs bool `json:"logprobs"`
				Top      int  `json:"top_logprobs"`
				IDs      bool `json:"return_token_ids"`
			}
			require.NoError(t, json.Unmarshal(server.Calls()[0].Body, &sent))
			require.True(t, sent.LogProbs)
			require.Equal(t, 1, sent.Top)
			require.Equal(t, c.prompt != nil, sent.IDs)

			client = quick(t, server.URL, func(k *chat.Config) { k.TokenIDs = true })
			_, err = client.Complete(t.Context(), q)
			if c.prompt == nil {
				require.ErrorContains(t, err, "token ids were requested")
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// Promise: everything else in an answer is returned: tool calls, thoughts, a refusal, an
// answer cut off by a filter.
func TestKindsOfAnswers(t *testing.T) {
	call := rl.ToolCall{ID: "1", Type: "function", Function: rl.FunctionCall{Name: "go", Arguments: `{"to":`}}
	for name, c := range map[string]struct {
		reply chattest.Reply
		want  chat.Response
	}{
		"tools":    {chattest.Answer{ToolCalls: []rl.ToolCall{call}, Finish: "tool_calls"}.Reply(), chat.Response{ToolCalls: []rl.ToolCall{call}, Finish: chat.FinishToolCalls}},
		"no type":  {chattest.Reply{Body: `{"choices":[{"finish_reason":"stop","message":{"content":null,"tool_calls":[{"id":"1","function":{"name":"go","arguments":"{\"to\":"}}]}}]}`}, chat.Response{ToolCalls: []rl.ToolCall{call}, Finish: chat.FinishStop}},
		"thoughts": {chattest.Reply{Body: `{"choices":[{"finish_reason":"stop","message":{"content":"4","reasoning_content":"2+2"}}]}`}, chat.Response{Text: "4", Reasoning: "2+2", Finish: chat.FinishStop}},
		"refusal":  {chattest.Reply{Body: `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"no"}}]}`}, chat.Response{Refusal: "no", Finish: chat.FinishStop}},
		"filter":   {chattest.Answer{Text: "half", Finish: "content_filter"}.Reply(), chat.Response{Text: "half", Finish: chat.FinishFilter}},
		"parts":    {chattest.Reply{Body: `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`}, chat.Response{Text: "ab", Finish: chat.FinishStop}},
	} {
		server := chattest.New(t, 0, always(c.reply))
		r, err := quick(t, server.URL).Complete(t.Context(), ask("x"))
		require.NoError(t, err, name)
		require.Equal(t, &c.want, r, name)
	}
}
