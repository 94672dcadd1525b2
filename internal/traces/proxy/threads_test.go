package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// counting answers with a number that no other answer has.
func counting() http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, `{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "answer %d"}}]}`, n.Add(1))
	}
}

type conversation struct {
	*stand
	messages []rl.Message
}

// ask sends the conversation with a question more, and keeps what was answered.
func (c *conversation) ask(text string, headers ...string) {
	c.Helper()
	c.messages = append(c.messages, rl.Message{Role: "user", Content: rl.Text(text)})
	body, err := json.Marshal(map[string]any{"messages": c.messages})
	require.NoError(c, err)
	_, got := c.post("/v1/chat/completions", string(body), headers...)
	var a struct {
		Choices []struct{ Message rl.Message }
	}
	require.NoError(c, json.Unmarshal([]byte(got), &a))
	c.messages = append(c.messages, a.Choices[0].Message)
}

func traces(spans []trace.Span) (ids []string) {
	for _, s := range spans {
		ids = append(ids, s.Trace)
	}
	return ids
}

// Promise: calls that nobody named are one trace where a conversation goes on,
// and another trace where another begins, though both began alike and run side
// by side; agents and keys are kept apart.
func TestConversationsAreJoined(t *testing.T) {
	s := open(t, counting())
	a, b, other := &conversation{stand: s}, &conversation{stand: s}, &conversation{stand: s}
	a.ask("hello")
	b.ask("hello")
	a.ask("and then?")
	b.ask("and then?")
	b.ask("and then?")
	a.ask("and then?")
	other.messages = append(other.messages, a.messages...)
	other.ask("mine?", "Authorization", "Bearer another key")
	got := traces(s.prompts())
	require.Equal(t, []string{got[0], got[1], got[0], got[1], got[1], got[0]}, got[:6])
	require.NotEqual(t, got[0], got[1])
	require.NotContains(t, got[:6], got[6])
}

// Promise: a session that its calls name is one conversation though its key is renewed: the
// results of tools still belong to the calls that asked for them.
func TestRenewedKey(t *testing.T) {
	s := open(t, answers(whole))
	c := &conversation{stand: s}
	c.ask("weather?", "Authorization", "Bearer the first key of the session", "X-Claude-Code-Session-Id", "5c0f2d6e-41d7-4f0e-9d0c")
	c.messages = append(c.messages, rl.Message{Role: "tool", ToolCallID: "x", Content: rl.Text("12 °C")})
	c.ask("and?", "Authorization", "Bearer the second key of the session", "X-Claude-Code-Session-Id", "5c0f2d6e-41d7-4f0e-9d0c")
	spans := s.prompts()
	require.Len(t, s.sink.of(trace.KindTool), 1)
	require.NotContains(t, spans[1].Attributes, trace.AttributeBranch)
	require.Equal(t, spans[0].Trace, spans[1].Trace)
}

// Promise: conversations that came to one point by the same answers are each
// continued once before one of them is continued twice.
func TestAlikeConversations(t *testing.T) {
	s := open(t, answers(`{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "the same"}}]}`))
	a, b := &conversation{stand: s}, &conversation{stand: s}
	a.ask("hello")
	b.ask("hello")
	a.ask("more")
	b.ask("more")
	got := traces(s.prompts())
	require.Equal(t, []string{got[0], got[1], got[0], got[1]}, got)
	require.NotEqual(t, got[0], got[1])
}

// Promise: an agent that changes what was answered stays in its trace, unless
// it could be one of several.
func TestChangedAnswers(t *testing.T) {
	s := open(t, counting())
	a := &conversation{stand: s}
	a.ask("hello")
	a.messages[1].Content = rl.Text("shortened")
	a.ask("more")
	got := traces(s.prompts())
	require.Equal(t, got[0], got[1])

	s = open(t, counting())
	a, b := &conversation{stand: s}, &conversation{stand: s}
	a.ask("hello")
	b.ask("hello")
	a.messages[1].Content = rl.Text("shortened")
	a.ask("more")
	got = traces(s.prompts())
	require.NotContains(t, got[:2], got[2])
}

// Promise: what a tool gave back becomes a span of kind tool, once, between the
// call that asked for it and the call that brought it.
func TestToolResults(t *testing.T) {
	s := open(t, answers(whole))
	c := &conversation{stand: s}
	c.ask("weather?")
	c.messages = append(c.messages, rl.Message{Role: "tool", ToolCallID: "x", Content: rl.Text("12 °C")})
	c.ask("and?")
	c.ask("again?")
	spans := s.prompts()
	tools := s.sink.of(trace.KindTool)
	require.Len(t, tools, 1)
	require.Equal(t, trace.Tool{CallID: "x", Arguments: `{"at": "Bonn"}`, Result: "12 °C"}, *tools[0].Tool)
	require.Equal(t, "weather", tools[0].Name)
	require.Equal(t, spans[0].ID, tools[0].Parent)
	require.Equal(t, spans[0].Trace, tools[0].Trace)
	require.Equal(t, spans[0].End, tools[0].Start)
	require.Equal(t, spans[1].Start, tools[0].End)
}
