package chat

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: waits double up to the limit, at most half of a wait is random, and the server's
// Retry-After is the minimum.
func TestBackoff(t *testing.T) {
	c := &Client{config: Config{Backoff: time.Second, MaxBackoff: 10 * time.Second}}
	for attempt, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		require.Equal(t, want, c.backoff(attempt, 0, 0))
		require.Equal(t, want*3/4, c.backoff(attempt, 0, 0.5))
	}
	require.Equal(t, 10*time.Second, c.backoff(5000, 0, 0))
	require.Equal(t, 4*time.Second, c.backoff(0, 4*time.Second, 0))
	require.Equal(t, 4500*time.Millisecond, c.backoff(0, 4*time.Second, 0.5))
}

// Promise: both forms of Retry-After are understood, and invalid values are ignored.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "0": 0, "NaN": 0, "2": 2 * time.Second, "1.5": 1500 * time.Millisecond, "1e300": 1e6 * time.Second,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, after(header, now), header)
	}
}

// deep returns answers that nest 100,000 levels deep, wherever an answer may contain any JSON.
func deep() (all []string) {
	const depth = 100_000
	for _, v := range []string{strings.Repeat("[", depth) + strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth), strings.Repeat(`[{"a":`, depth)} {
		all = append(all, v, `{"choices":[{"message":{"content":`+v+`}}]}`, `{"error":`+v+`}`, `{"usage":`+v+`}`, `{"x":`+v+`}`)
	}
	return all
}

func anyClient(t testing.TB) *Client {
	config := DefaultConfig()
	config.URL, config.Model = "http://127.0.0.1/v1", "m"
	c, err := New(config)
	require.NoError(t, err)
	return c
}

// Promise: a deeply nested answer is one error, and a deeply nested schema or JSON from a
// model is rejected.
func TestDeepAnswers(t *testing.T) {
	testneeds.NotShort(t)
	c := anyClient(t)
	s, err := NewSchema([]byte(`{"type":["object","array"]}`))
	require.NoError(t, err)
	for _, body := range deep() {
		for _, status := range []int{200, 400, 500} {
			_, fault := c.read(&answer{status: status, body: []byte(body)}, &Request{})
			require.NotNil(t, fault)
			require.Less(t, len(fault.Error()), 800)
		}
		_, err := NewSchema([]byte(body))
		require.Error(t, err)
		_, _, err = s.Parse(body)
		require.Error(t, err)
	}
}

// Promise: no answer of a server makes the client panic; each results in a valid response or
// an error with a hint.
func FuzzRead(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"x"},"logprobs":{"content":[{"id":1,"logprob":-1}]},"token_ids":[1],"prompt_token_ids":[2]}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		`{"error":{"code":400,"message":"request (931 tokens) exceeds the available context size","type":"exceed_context_size_error"}}`,
		`{"detail":[{"msg":"x"}]}`, `{"error":"x"}`, `<html>`, `data: {}`, `[NaN]`, "\xff", "",
	} {
		f.Add(200, []byte(body))
		f.Add(400, []byte(body))
	}
	for _, body := range deep() {
		f.Add(200, []byte(body))
		f.Add(400, []byte(body))
	}
	c := anyClient(f)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		r, fault := c.read(&answer{status: status, body: body}, &Request{LogProbs: true})
		if fault != nil {
			require.NotEmpty(t, fault.Hint)
			require.True(t, utf8.ValidString(fault.Error()))
			require.Less(t, len(fault.Error()), 800)
			return
		}
		require.Contains(t, []Finish{FinishStop, FinishLength, FinishToolCalls, FinishFilter}, r.Finish)
		for i, p := range r.LogProbs {
			require.False(t, math.IsNaN(p) || math.IsInf(p, 0) || p > 0)
			if r.Tokens != nil {
				require.Equal(t, p, r.Tokens[i].LogProb)
				require.GreaterOrEqual(t, r.Tokens[i].ID, int32(0))
			}
		}
	})
}
