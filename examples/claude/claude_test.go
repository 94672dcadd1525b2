// Package claude_test shows that an agent written with the package anthropic is recorded
// without changes to it, as one trace with its sub-agent as a branch.
package claude_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/traces/collecting"
	"github.com/merit-rl/merit/internal/traces/proxy"
	"github.com/merit-rl/merit/internal/traces/trace"
)

const errand = "Find the prices of a tea and of a cake, and of gold."

// block is a block of an answer.
type block map[string]any

func use(id, name, field, value string) block {
	return block{"type": "tool_use", "id": id, "name": name, "input": map[string]string{field: value}}
}

// said are the answers of the model, by the number of messages and the system prompt.
func said(system string, messages int) []block {
	thought := block{"type": "thinking", "thinking": "I need the prices.", "signature": "c2lnbmF0dXJl"}
	switch {
	case strings.Contains(system, "prices") && messages == 1:
		return []block{use("toolu_2", "price", "item", "tea"), use("toolu_3", "price", "item", "cake"), use("toolu_4", "price", "item", "gold")}
	case strings.Contains(system, "prices"):
		return []block{{"type": "text", "text": "Tea 3.5, cake 2.75, no gold."}}
	case messages == 1:
		return []block{thought, {"type": "text", "text": "I ask."}, use("toolu_1", "task", "prompt", errand)}
	}
	return []block{{"type": "text", "text": "Together they cost 6.25 euros."}}
}

// model is a stand-in for a server of Anthropic's API, which keeps what it was sent and what
// it answered.
type model struct {
	mu   sync.Mutex
	keys []string
	sent []string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.keys, m.sent = append(m.keys, r.Header.Get("X-Api-Key")), append(m.sent, string(body))
	n := len(m.sent)
	m.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/count_tokens") {
		_, _ = io.WriteString(w, `{"input_tokens": 12}`)
		return
	}
	var q struct {
		System   []struct{ Text string }
		Messages []json.RawMessage
	}
	if json.Unmarshal(body, &q) != nil || len(q.System) == 0 {
		http.Error(w, `{"type": "error", "error": {"type": "invalid_request_error", "message": "no system"}}`, http.StatusBadRequest)
		return
	}
	stream(w, n, said(q.System[0].Text, len(q.Messages)), func(event) bool { return true })
}

// event writes one event of a stream.
type event func(kind string, fields map[string]any)

// message returns answer number n without its blocks.
func message(n int) map[string]any {
	return map[string]any{"id": fmt.Sprint("msg_", n), "type": "message", "role": "assistant", "model": "local", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 1}}
}

// stop returns why a model stops after blocks.
func stop(blocks []block) string {
	for _, b := range blocks {
		if b["type"] == "tool_use" {
			return "tool_use"
		}
	}
	return "end_turn"
}

// stream streams answer number n, and ends it early if more, which is called after each piece of
// a block, is false.
func stream(w http.ResponseWriter, n int, blocks []block, more func(event) bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	write := func(kind string, fields map[string]any) {
		fields["type"] = kind
		text, _ := json.Marshal(fields)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		w.(http.Flusher).Flush()
	}
	write("message_start", map[string]any{"message": message(n)})
	for i, b := range blocks {
		start, deltas := pieces(b)
		write("content_block_start", map[string]any{"index": i, "content_block": start})
		for _, d := range deltas {
			write("content_block_delta", map[string]any{"index": i, "delta": d})
			write("ping", map[string]any{})
			if !more(write) {
				return
			}
		}
		write("content_block_stop", map[string]any{"index": i})
	}
	write("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop(blocks), "stop_sequence": nil}, "usage": map[string]int{"output_tokens": 9}})
	write("message_stop", map[string]any{})
}

// pieces returns a block as the events of a stream have it.
func pieces(b block) (start block, deltas []block) {
	switch b["type"] {
	case "text":
		text := b["text"].(string)
		return block{"type": "text", "text": ""}, []block{{"type": "text_delta", "text": text[:3]}, {"type": "text_delta", "text": text[3:]}}
	case "thinking":
		return block{"type": "thinking", "thinking": "", "signature": ""}, []block{{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}}
	}
	input, _ := json.Marshal(b["input"])
	return block{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}},
		[]block{{"type": "input_json_delta", "partial_json": ""}, {"type": "input_json_delta", "partial_json": string(input[:5])}, {"type": "input_json_delta", "partial_json": string(input[5:])}}
}

// run runs a program of the package anthropic against a base URL, and returns what it prints.
func run(t *testing.T, python, program, base string) string {
	t.Helper()
	agent := exec.Command(python, program)
	agent.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+base, "ANTHROPIC_API_KEY=sk-ant-agent-0123456789", "NO_PROXY=127.0.0.1")
	output, err := agent.CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

// recorded runs a program through a proxy before a server, and returns what it prints and the
// traces, the oldest first.
func recorded(t *testing.T, python, program, server string) (string, []*trace.Trace, proxy.Stats) {
	t.Helper()
	config, err := collecting.Parse("", nil, "", "store="+filepath.Join(t.TempDir(), "t.db"))
	require.NoError(t, err)
	sink, err := collecting.Open(t.Context(), config, collecting.Options{})
	require.NoError(t, err)
	to, err := url.Parse(server)
	require.NoError(t, err)
	p, err := proxy.New(proxy.Options{Upstream: to, Sink: sink, Key: "sk-ant-operator-0123456789"})
	require.NoError(t, err)
	front := httptest.NewServer(p)
	defer front.Close()
	printed := run(t, python, program, front.URL)
	require.NoError(t, p.Close(context.Background()))
	var all []*trace.Trace
	query, err := trace.ParseQuery("order=oldest", time.Now())
	require.NoError(t, err)
	require.NoError(t, sink.Store().Each(t.Context(), query, func(x *trace.Trace) error { all = append(all, x); return nil }))
	require.NoError(t, sink.Close())
	return printed, all, p.Stats()
}

// Promise: an agent of the package anthropic that knows nothing of Merit works through the
// proxy as it does without it, sends the same bytes, and is one trace with its sub-agent as
// a branch: messages, thoughts with signatures, calls and results of tools, and usage.
func TestAgentOfAnthropic(t *testing.T) {
	python := testneeds.AgentPython(t, "anthropic")
	direct, through := &model{}, &model{}
	up := httptest.NewServer(direct)
	defer up.Close()
	behind := httptest.NewServer(through)
	defer behind.Close()
	require.Equal(t, "12 tokens asked: Together they cost 6.25 euros.\n", run(t, python, "agent.py", up.URL))
	printed, all, stats := recorded(t, python, "agent.py", behind.URL)
	require.Equal(t, "12 tokens asked: Together they cost 6.25 euros.\n", printed)
	require.Equal(t, uint64(1), stats.Passed, "count_tokens")
	require.Len(t, all, 1, "one run is one trace")
	check(t, all[0])
	require.Equal(t, direct.sent, through.sent)
	require.Len(t, through.sent, 5)
	for _, key := range through.keys {
		require.Equal(t, "sk-ant-operator-0123456789", key)
	}
}

// check checks the trace of a run.
func check(t *testing.T, x *trace.Trace) {
	require.Equal(t, trace.StatusOK, x.Status)
	var calls []*trace.Span
	tools := map[string]string{}
	for i := range x.All {
		switch s := &x.All[i]; s.Kind {
		case trace.KindPrompt:
			calls = append(calls, s)
		case trace.KindTool:
			tools[s.Name+s.Tool.Arguments] = s.Tool.Result
		case trace.KindReasoning:
			require.Equal(t, "I need the prices.", s.Text)
		}
	}
	require.Len(t, calls, 4)
	require.Equal(t, map[string]string{`price{"item":"tea"}`: "3.5", `price{"item":"cake"}`: "2.75", `price{"item":"gold"}`: "no such item: 'gold'",
		`task{"prompt":"` + errand + `"}`: "Tea 3.5, cake 2.75, no gold."}, tools)
	for i, parent := range []string{"", calls[0].ID, calls[0].ID, ""} {
		require.Equal(t, parent, calls[i].Parent, "call %d", i)
		require.Equal(t, trace.Usage{PromptTokens: 105, CompletionTokens: 9}, *calls[i].Prompt.Usage)
	}
	require.Equal(t, `"subagent"`, string(calls[1].Attributes["branch_kind"]))
	again, err := json.Marshal(calls[3].Prompt.Messages[2])
	require.NoError(t, err)
	answer, err := json.Marshal(calls[0].Prompt.Answer)
	require.NoError(t, err)
	require.JSONEq(t, string(answer), string(again), "what the client sends back is what was recorded")
	require.Contains(t, string(answer), "c2lnbmF0dXJl")
	told := x.Trajectory()
	require.Len(t, told.Steps, 4)
	require.Len(t, told.Messages, 2+1+2+1+3+1+1+1, "no message is there twice")
}
