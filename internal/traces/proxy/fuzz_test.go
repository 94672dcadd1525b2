package proxy

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/proxy/lineage"
)

// Promise: whatever agent and server send, a call becomes spans that a store
// takes.
func FuzzRecord(f *testing.F) {
	f.Add(0, `{"model": "m", "messages": [{"role": "user", "content": "hi"}]}`, `{"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}`, false, 200)
	f.Add(0, `{"messages": [{"content": [{"type": "text", "text": "hi"}]}], "tools": 7}`, "data: {\"choices\": [{\"index\": -1, \"delta\": {\"tool_calls\": [{\"index\": 3, \"id\": \"\"}]}}]}\r\n\r\ndata: [DONE]\n\n", true, 200)
	f.Add(1, `{"prompt": [[1, 2], [3]], "n": 3}`, `{"choices": [{"index": 5, "text": "\ud800"}], "usage": {}}`, false, 200)
	f.Add(1, `{"prompt": "\u0000"}`, `{"error": "no"}`, false, 500)
	f.Add(2, `{"input": [{"type": "function_call"}, {"type": "function_call_output", "output": [{"text": "x"}]}], "model": 7}`, `{"status": "incomplete", "output": [{"type": "reasoning"}]}`, false, 200)
	f.Add(2, `{"input": "x", "n": 99999999999}`, "data: {\"type\": \"response.failed\", \"response\": {\"error\": {\"message\": \"\xff\"}}}\n\n", true, 200)
	f.Add(3, `{"system": [{"type": "text", "text": "s"}], "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "new"}], "is_error": 1}, {"type": "image"}]}, {"role": "assistant", "content": [{"type": "thinking"}, {"type": "tool_use", "id": "t", "input": "x"}]}], "tools": [{"name": "f", "input_schema": {}}], "metadata": {"user_id": "{\"session_id\": \"s\"}"}}`,
		`{"type": "message", "content": [{"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": "\ud800"}, {"type": "tool_use", "id": "t", "input": {"prompt": "go"}}], "stop_reason": "tool_use", "usage": {"input_tokens": -1}}`, false, 200)
	f.Add(3, `{"messages": [{"role": "user", "content": "hi"}]}`, "event: message_start\ndata: {\"type\": \"message_start\", \"message\": {}}\n\ndata: {\"type\": \"content_block_delta\", \"index\": 3, \"delta\": {\"type\": \"input_json_delta\", \"partial_json\": \"{\"}}\n\ndata: {\"type\": \"error\"}\n\n", true, 200)
	f.Fuzz(func(t *testing.T, api int, asked, said string, stream bool, status int) {
		tree, held := lineage.New(16, func() string { return newID(16) }), atomic.Int64{}
		for range 2 { // the second continues the first, if it can
			c := &call{api: &apis[uint(api)%uint(len(apis))], span: "s", start: time.Unix(1, 0), ended: time.Unix(2, 0), stream: stream, status: status, memory: &held, most: 1 << 20}
			c.request, c.answer = []byte(asked), []byte(said)
			spans, about := record(tree, c)
			require.NoError(t, about.Check())
			for i := range spans {
				require.NoError(t, spans[i].Check())
			}
		}
	})
}
