package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/proxy"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// The fixtures follow the schema that anthropic 2.14.0 publishes (anthropic.types): a turn
// of an agent with thinking, a text, a tool of the server, a block that Merit does not know,
// and two calls of tools.
const (
	messagesAsked = `{"model": "claude-m", "max_tokens": 64, "temperature": 1, "metadata": {"user_id": "u"},
		"system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
		"tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}, {"type": "web_search_20250305", "name": "web_search"}],
		"messages": [{"role": "user", "content": [{"type": "text", "text": "weather?"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
			{"role": "assistant", "content": [{"type": "thinking", "thinking": "old", "signature": "sig0"}, {"type": "tool_use", "id": "toolu_0", "name": "weather", "input": {"at": "Rome"}}]},
			{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "is_error": true, "content": [{"type": "text", "text": "no"}, {"type": "text", "text": " way"}]}, {"type": "text", "text": "try Bonn"}]}]}`
	messagesSaid = `{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-m-1", "content": [
		{"type": "thinking", "thinking": "I do not know", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "b3BhcXVl"},
		{"type": "text", "text": "let me see"},
		{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Bonn"}},
		{"type": "hologram", "depth": 3},
		{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"at":"Bonn","days":[1,2]}},
		{"type": "tool_use", "id": "toolu_2", "name": "clock", "input": {}}],
		"stop_reason": "tool_use", "stop_sequence": null,
		"usage": {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500, "output_tokens": 7}}`
)

// messagesStreamed is messagesSaid as a stream.
var messagesStreamed = stream(
	`{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-m-1", "content": [], "stop_reason": null, "usage": {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500, "output_tokens": 1}}}`,
	`{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}`,
	`{"type": "ping"}`,
	`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I do not "}}`,
	`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "know"}}`,
	`{"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}`,
	`{"type": "content_block_stop", "index": 0}`,
	`{"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "b3BhcXVl"}}`,
	`{"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}`,
	`{"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "let me"}}`,
	`{"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": " see"}}`,
	`{"type": "content_block_start", "index": 3, "content_block": {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}}`,
	`{"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{\"query\": \"Bonn\"}"}}`,
	`{"type": "content_block_start", "index": 4, "content_block": {"type": "hologram", "depth": 3}}`,
	`{"type": "content_block_start", "index": 5, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}}`,
	`{"type": "content_block_start", "index": 6, "content_block": {"type": "tool_use", "id": "toolu_2", "name": "clock", "input": {}}}`,
	`{"type": "content_block_delta", "index": 5, "delta": {"type": "input_json_delta", "partial_json": ""}}`,
	`{"type": "content_block_delta", "index": 5, "delta": {"type": "input_json_delta", "partial_json": "{\"at\": \"Bonn\", \"da"}}`,
	`{"type": "content_block_delta", "index": 5, "delta": {"type": "input_json_delta", "partial_json": "ys\": [1, 2]}"}}`,
	`{"type": "a_new_event"}`,
	`{"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 7}}`,
	`{"type": "message_stop"}`,
)

// stream returns events as Anthropic's API sends them.
func stream(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	}
	return b.String()
}

// Promise: a call of Anthropic's Messages API passes through byte for byte, whole or as a
// stream, and both are recorded as the same span in the words of OpenAI's API, with all
// blocks that have no place there kept as they came.
func TestMessages(t *testing.T) {
	for name, body := range map[string]string{"whole": messagesSaid, "stream": messagesStreamed} {
		t.Run(name, func(t *testing.T) {
			var got string
			var header http.Header
			s := open(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				got, header = string(text), r.Header
				answers(body)(w, r)
			})
			status, said := s.post("/v1/messages", messagesAsked, "Anthropic-Version", "2023-06-01", "Anthropic-Beta", "a,b", "X-Api-Key", "sk-ant-0123456789abcdef")
			require.Equal(t, 200, status)
			require.Equal(t, body, said)
			require.Equal(t, messagesAsked, got)
			require.Equal(t, "a,b", header.Get("Anthropic-Beta"))
			require.Equal(t, "2023-06-01", header.Get("Anthropic-Version"))
			require.Equal(t, "sk-ant-0123456789abcdef", header.Get("X-Api-Key"))
			span := s.prompts()[0]
			require.Equal(t, trace.StatusOK, span.Status, span.Error)
			text, err := json.Marshal(span.Prompt)
			require.NoError(t, err)
			require.JSONEq(t, `{"model": "claude-m-1", "finish_reason": "tool_calls", "usage": {"prompt_tokens": 543, "completion_tokens": 7},
				"settings": {"max_tokens": 64, "temperature": 1, "metadata": {"user_id": "u"}},
				"tools": [{"type": "function", "cache_control": {"type": "ephemeral"}, "function": {"name": "weather", "description": "d", "parameters": {"type": "object"}}}, {"type": "web_search_20250305", "name": "web_search"}],
				"messages": [{"role": "system", "content": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]},
					{"role": "user", "content": [{"type": "text", "text": "weather?"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
					{"role": "assistant", "content": "", "tool_calls": [{"id": "toolu_0", "type": "function", "function": {"name": "weather", "arguments": "{\"at\":\"Rome\"}"}}],
						"thinking_blocks": [{"type": "thinking", "thinking": "old", "signature": "sig0"}]},
					{"role": "tool", "content": [{"type": "text", "text": "no"}, {"type": "text", "text": " way"}], "tool_call_id": "toolu_0", "is_error": true},
					{"role": "user", "content": [{"type": "text", "text": "try Bonn"}]}],
				"answer": {"role": "assistant", "content": [{"type": "text", "text": "let me see"}, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Bonn"}}, {"type": "hologram", "depth": 3}],
					"tool_calls": [{"id": "toolu_1", "type": "function", "function": {"name": "weather", "arguments": "{\"at\":\"Bonn\",\"days\":[1,2]}"}}, {"id": "toolu_2", "type": "function", "function": {"name": "clock", "arguments": "{}"}}],
					"thinking_blocks": [{"type": "thinking", "thinking": "I do not know", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "b3BhcXVl"}]}}`, string(text))
			require.Equal(t, "let me see", span.Prompt.Answer.Content.Text())
			require.Equal(t, "no way", span.Prompt.Messages[3].Content.Text())
			for name, want := range map[string]string{"endpoint": `"messages"`, "stop_reason": `"tool_use"`, "cache_read_tokens": "500", "cache_creation_tokens": "40", "unknown_blocks": `{"hologram":1}`} {
				require.Equal(t, want, string(span.Attributes[name]), name)
			}
			require.Equal(t, "I do not know", s.sink.of(trace.KindReasoning)[0].Text)
			require.Equal(t, trace.StatusOpen, s.sink.about[span.Trace].Status)
			require.Equal(t, map[string]uint64{"hologram": 1}, s.proxy.Stats().Unknown)
			stored, err := json.Marshal(s.sink.spans)
			require.NoError(t, err)
			require.NotContains(t, string(stored), "sk-ant-0123456789abcdef")
		})
	}
}

// Promise: what a tool gave back to an agent of Anthropic's API is a span, in the trace of
// the call that asked for it, though the agent moved its marks for the cache.
func TestMessagesToolResults(t *testing.T) {
	s := open(t, answers(messagesSaid))
	first := `{"role": "user", "content": [{"type": "text", "text": "weather?", "cache_control": {"type": "ephemeral"}}]}`
	s.post("/v1/messages", `{"system": "x", "messages": [`+first+`]}`)
	s.post("/v1/messages", `{"system": "x", "messages": [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": [
		{"type": "thinking", "thinking": "I do not know", "signature": "c2ln"}, {"type": "text", "text": "let me see"}, {"type": "hologram", "depth": 3},
		{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"days": [1, 2], "at": "Bonn"}}, {"type": "tool_use", "id": "toolu_2", "name": "clock", "input": {}}]},
		{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 °C"}, {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "noon"}]}]}]}`)
	spans, tools := s.prompts(), s.sink.of(trace.KindTool)
	require.Equal(t, spans[0].Trace, spans[1].Trace)
	require.Len(t, tools, 2)
	require.Equal(t, trace.Tool{CallID: "toolu_1", Arguments: `{"at":"Bonn","days":[1,2]}`, Result: "12 °C"}, *tools[0].Tool)
	require.Equal(t, "noon", tools[1].Tool.Result)
}

// Promise: each way in which a call of Anthropic's API fails is recorded as what it was,
// with as much of the answer as came.
func TestMessagesFailures(t *testing.T) {
	events := strings.SplitAfter(messagesStreamed, "\n\n")
	half := strings.Join(events[:11], "")
	overloaded := `{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}`
	for name, c := range map[string]struct{ body, failure, answer string }{
		"cut":       {half, "the answer was truncated", "let me see"},
		"error":     {half + "event: error\ndata: " + overloaded + "\n\n", "Overloaded", "let me see"},
		"cut piece": {half + "event: content_block_delta\ndata: {\"type\": \"content_bl\n\n", "an event of the stream is not JSON; the events around it are kept", "let me see"},
		"cut whole": {messagesSaid[:strings.Index(messagesSaid, `see"`)+4], "the answer is not complete JSON; the part before the break is kept", "let me see"},
	} {
		s := open(t, answers(c.body))
		s.post("/v1/messages", messagesAsked)
		span := s.prompts()[0]
		require.Equal(t, c.failure, span.Error, name)
		require.Equal(t, trace.StatusError, span.Status, name)
		require.Equal(t, c.answer, span.Prompt.Answer.Content.Text(), name)
	}
	s := open(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, overloaded, 529) })
	_, text := s.post("/v1/messages", messagesAsked)
	require.Equal(t, overloaded+"\n", text)
	require.Equal(t, "Overloaded", s.prompts()[0].Error)
	s = open(t, answers(strings.TrimSuffix(messagesStreamed, events[len(events)-2])))
	s.post("/v1/messages", messagesAsked)
	span := s.prompts()[0]
	require.Equal(t, trace.StatusOK, span.Status)
	require.Contains(t, string(span.Attributes["problem"]), "without message_stop")
}

// Promise: calls that sample nothing for an agent pass unrecorded; the operator's key goes
// into the header of each API; and the proxy's errors have the form that clients raise.
func TestMessagesKeysAndErrors(t *testing.T) {
	const own, token = "sk-ant-operator-0123456789", "sk-ant-oat01-operator-0123456789"
	type seen struct{ path, key, bearer string }
	got := make(chan seen, 1)
	server := func(w http.ResponseWriter, r *http.Request) {
		got <- seen{r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization")}
		answers(messagesSaid)(w, r)
	}
	s := open(t, server, func(o *proxy.Options) { o.Key = own })
	for _, path := range []string{"/v1/messages/count_tokens", "/v1/messages/batches", "/v1/threads/t1/messages", "/v1/messages"} {
		s.post(path, messagesAsked, "X-Api-Key", "sk-ant-agent-0123456789", "Anthropic-Version", "2023-06-01")
		require.Equal(t, seen{path, own, ""}, <-got)
	}
	s.post("/v1/embeddings", `{}`)
	require.Equal(t, seen{"/v1/embeddings", "", "Bearer " + own}, <-got)
	require.Len(t, s.prompts(), 1)
	require.Equal(t, uint64(4), s.proxy.Stats().Passed)
	s = open(t, server, func(o *proxy.Options) { o.Key = token })
	s.post("/v1/messages", messagesAsked, "X-Api-Key", "sk-ant-agent-0123456789")
	require.Equal(t, seen{"/v1/messages", "", "Bearer " + token}, <-got)

	s = open(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	status, text := s.post("/v1/messages", messagesAsked)
	require.Equal(t, 502, status)
	require.Regexp(t, `^{"type":"error","error":{"type":"api_error","message":"merit traces proxy: 127.0.0.1:\d+ did not answer: EOF"}}\n$`, text)
}
