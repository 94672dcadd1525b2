package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/trace"
)

// Promise: a sub-agent that has answered does not end the trace of the agent that waits for
// it: a trace that has ended is scored.
func TestSubagentDoesNotEndTheTrace(t *testing.T) {
	const errand = "Look for all prices in the files of the shop."
	s := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		answer := `{"type": "message", "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}`
		if !strings.Contains(string(asked), errand) {
			answer = `{"type": "message", "content": [{"type": "tool_use", "id": "t", "name": "task", "input": {"prompt": "` + errand + `"}}], "stop_reason": "tool_use"}`
		}
		_, _ = io.WriteString(w, answer)
	})
	s.post("/v1/messages", `{"messages": [{"role": "user", "content": "begin"}]}`)
	s.post("/v1/messages", `{"messages": [{"role": "user", "content": "`+errand+`"}]}`)
	spans := s.prompts()
	require.Equal(t, spans[0].Trace, spans[1].Trace)
	require.Equal(t, spans[0].ID, spans[1].Parent)
	require.Equal(t, trace.StatusOpen, s.sink.about[spans[0].Trace].Status)
}

// Promise: the agent's own answer ends it.
func TestAgentEndsTheTrace(t *testing.T) {
	s := open(t, answers(`{"type": "message", "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}`))
	s.post("/v1/messages", `{"messages": [{"role": "user", "content": "begin"}]}`)
	require.Equal(t, trace.StatusOK, s.sink.about[s.prompts()[0].Trace].Status)
}
