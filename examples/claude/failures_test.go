package claude_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// faulty is a server of Anthropic's API that fails as a question asks for, and keeps what it was sent.
type faulty struct {
	mu   sync.Mutex
	sent []string
}

// asked is what a request asks for.
type asked struct {
	Stream   bool
	Tools    []json.RawMessage
	Messages []struct{ Content any }
}

// last returns the text of the last message; empty for parts.
func (q *asked) last() string {
	text, _ := q.Messages[len(q.Messages)-1].Content.(string)
	return text
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.sent = append(f.sent, r.URL.RequestURI()+" "+string(body))
	n := len(f.sent)
	f.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/count_tokens") {
		_, _ = io.WriteString(w, `{"input_tokens": 12}`)
		return
	}
	var q asked
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var code int
	if _, err := fmt.Sscanf(q.last(), "fail %d", &code); err == nil {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		kind := map[int]string{429: "rate_limit_error", 529: "overloaded_error", 400: "invalid_request_error"}[code]
		fmt.Fprintf(w, `{"type": "error", "error": {"type": %q, "message": "no, %d"}, "request_id": "req_1"}`, kind, code)
		return
	}
	blocks := []block{{"type": "text", "text": "It costs 3.5."}}
	if len(q.Tools) > 0 && len(q.Messages) == 1 {
		blocks = []block{{"type": "thinking", "thinking": "I need the price.", "signature": "c2ln"}, use("toolu_1", "price", "item", "tea")}
	}
	if !q.Stream {
		whole := message(n)
		whole["content"], whole["stop_reason"] = blocks, stop(blocks)
		_ = json.NewEncoder(w).Encode(whole)
		return
	}
	stream(w, n, blocks, func(write event) bool {
		if strings.HasPrefix(q.last(), "cut") {
			panic(http.ErrAbortHandler)
		}
		if strings.HasPrefix(q.last(), "fail in") {
			write("error", map[string]any{"error": map[string]string{"type": "overloaded_error", "message": "Overloaded"}})
			return false
		}
		return true
	})
}

// Promise: a caller of the package anthropic gets through the proxy what it gets without it, answers
// and errors, whole and streamed, and the server gets the same bytes; every call is recorded with what
// arrived of its answer.
func TestFailuresOfAnthropic(t *testing.T) {
	python := testneeds.AgentPython(t, "anthropic")
	direct, through := &faulty{}, &faulty{}
	up := httptest.NewServer(direct)
	defer up.Close()
	behind := httptest.NewServer(through)
	defer behind.Close()
	want := run(t, python, "testdata/calls.py", up.URL)
	got, all, stats := recorded(t, python, "testdata/calls.py", behind.URL)
	require.Equal(t, want, got)
	require.Contains(t, want, "whole, 429 -> RateLimitError 429")
	require.Contains(t, want, "retry-after=7")
	require.Equal(t, direct.sent, through.sent)
	require.Equal(t, uint64(14), stats.Recorded)
	require.Equal(t, uint64(8), stats.Failed)
	type line struct {
		status, text, err string
		spans             int
	}
	var lines []line
	for _, x := range all {
		l := line{status: string(x.Status), spans: len(x.All)}
		for _, s := range x.All {
			if s.Kind == trace.KindPrompt {
				if l.err = s.Error; s.Prompt.Answer != nil {
					l.text = s.Prompt.Answer.Content.Text()
				}
			}
		}
		lines = append(lines, l)
	}
	answered := []line{{"ok", "It costs 3.5.", "", 1}, {"ok", "It costs 3.5.", "", 4}, {"error", "", "no, 429", 1}, {"error", "", "no, 529", 1}, {"error", "", "no, 400", 1}}
	require.Equal(t, append(append(answered, answered...),
		line{"error", "It ", "the answer was interrupted: unexpected EOF", 1}, line{"error", "It ", "Overloaded", 1}), lines)
}
