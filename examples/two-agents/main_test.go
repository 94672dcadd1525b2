package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	core "github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/trace"
)

// Promise: a ticket is two calls of one trace, each by its agent, with what the
// model was offered and how likely it said what it said; without a collector
// nothing is recorded and the tickets are the same.
func TestATicketIsATrace(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Choices []string `json:"guided_choice"`
		}
		if json.NewDecoder(r.Body).Decode(&q) != nil || len(q.Choices) == 0 {
			http.Error(w, "no choices", http.StatusBadRequest)
			return
		}
		said, _ := json.Marshal(q.Choices[0])
		w.Write([]byte(`{"choices":[{"message":{"content":` + string(said) + `},"logprobs":{"content":[{"token":` + string(said) + `,"logprob":-1.5}]}}]}`))
	}))
	defer model.Close()
	sink := &kept{}
	tracer, err := trace.New(trace.Options{Enabled: true, Sink: sink})
	require.NoError(t, err)
	_, err = newSupport(model.URL, tracer).solve(t.Context(), draw(3), "practice", 1)
	require.NoError(t, err)
	require.NoError(t, tracer.Close(t.Context()))
	var calls []string
	for _, s := range sink.spans {
		require.Equal(t, "practice-ticket-0003-1", s.Trace)
		if s.Prompt != nil {
			calls = append(calls, s.Agent+" "+s.Prompt.Answer.Content.Text())
			require.Equal(t, -1.5, s.Prompt.Tokens[0].LogProb)
			require.Contains(t, string(s.Prompt.Settings), "guided_choice")
		}
	}
	require.ElementsMatch(t, []string{"planner accounts", "solver explain"}, calls)
	require.Contains(t, string(sink.about[len(sink.about)-1].Metadata["ground_truth"]), draw(3).desk)

	off, err := trace.New(trace.Options{})
	require.NoError(t, err)
	_, err = newSupport(model.URL, off).solve(t.Context(), draw(3), "practice", 1)
	require.NoError(t, err)
}

// Promise: tickets are the same each time, and every desk and wish occurs.
func TestTickets(t *testing.T) {
	seen := map[string]bool{}
	for n := range 200 {
		x := draw(n)
		require.Equal(t, x, draw(n))
		require.True(t, strings.HasPrefix(x.truth(), x.desk+" "))
		seen[x.desk+x.wish] = true
	}
	require.Len(t, seen, 8)
}

type kept struct {
	mu    sync.Mutex
	spans []core.Span
	about []trace.About
}

func (k *kept) Put(_ context.Context, spans []core.Span, about []core.About) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans, k.about = append(k.spans, spans...), append(k.about, about...)
	return nil
}
