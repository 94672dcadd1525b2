package chat_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// body is a response with a hand-written choice, or with everything after it hand-written.
func body(choice string) chattest.Reply {
	return chattest.Reply{Body: `{"model":"small","choices":[` + choice + `],"usage":{"prompt_tokens":3,"completion_tokens":1}}`}
}

// probs is an answer of one token with the given logprobs.
func probs(logprobs string) chattest.Reply {
	return body(`{"finish_reason":"stop","message":{"role":"assistant","content":"x"},"logprobs":` + logprobs + `}`)
}

// Promise: every failure of a server is one typed error with a sentence and a hint, and only
// temporary failures are retried.
func TestFaults(t *testing.T) {
	said := chattest.Say("hello").Body
	fail := chattest.Fail
	cases := []struct {
		name  string
		reply chattest.Reply
		kind  fault.Kind
		again bool
		text  string
		is    error
	}{
		{"429", fail(429, "rate_limit_exceeded", "slow down"), fault.Exhausted, true, "too many requests (429: slow down), also at attempt 3", nil},
		{"429 with a number", chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": "0.002"}}, fault.Exhausted, true, "also at attempt 3", nil},
		{"empty account", fail(429, "insufficient_quota", "You exceeded your current quota"), fault.Exhausted, false, "no credit left", chat.ErrClient},
		{"500", fail(500, "server_error", "oops\n\x1b[31m"), fault.Crashed, true, `the server failed (500: oops \x1b[31m)`, nil},
		{"502 with a page", chattest.Reply{Status: 502, Body: "<html>Bad Gateway</html>"}, fault.Crashed, true, "502: <html>Bad Gateway", nil},
		{"503", chattest.Reply{Status: 503}, fault.Crashed, true, "the server failed (503)", nil},
		{"503 of llama.cpp", fail(503, "unavailable_error", "Loading model"), fault.Crashed, true, "still loading its model", nil},
		{"501", fail(501, "", "no"), fault.Invalid, false, "does not support this request", nil},
		{"408", fail(408, "", "no"), fault.Timeout, true, "timed out", nil},
		{"half a JSON", chattest.Reply{Body: said[:len(said)/2]}, fault.Protocol, true, "not complete JSON", nil},
		{"a body that stops", chattest.Reply{Body: said[:9], Cut: true}, fault.Protocol, true, "did not finish, also at attempt 3: unexpected EOF", nil},
		{"a dropped connection", chattest.Reply{Drop: true}, fault.Crashed, true, "no answer came, also at attempt 3: EOF", nil},
		{"not UTF-8", chattest.Reply{Body: "{\"model\":\"\xff\"}"}, fault.Protocol, true, "not UTF-8", nil},
		{"a page", chattest.Reply{Body: "<!doctype html><p>Sign in"}, fault.Protocol, true, "a page, not JSON: <!doctype html>", nil},
		{"events", chattest.Reply{Body: "data: {}\n\n"}, fault.Protocol, true, "a stream of events", nil},
		{"nothing", chattest.Reply{}, fault.Protocol, true, "the answer is empty", nil},
		{"a list", chattest.Reply{Body: "[]"}, fault.Protocol, true, "not a chat completion", nil},
		{"another shape", chattest.Reply{Body: `{"choices":{"a":1}}`}, fault.Protocol, true, "an object instead of a list", nil},
		{"an error in a 200", chattest.Reply{Body: `{"error":{"code":429,"message":"slow down"}}`}, fault.Exhausted, true, "too many requests (429: slow down)", nil},
		{"a text in a 200", chattest.Reply{Body: `{"error":"upstream died"}`}, fault.Crashed, true, "the server failed (502: upstream died)", nil},
		{"null in a 200", chattest.Reply{Body: `{"error":null}`}, fault.Protocol, true, "has no choices", nil},
		{"no choice", body(``), fault.Protocol, true, "has no choices", nil},
		{"two choices", body(`{},{}`), fault.Protocol, true, "has 2 choices", nil},
		{"no message", body(`{"finish_reason":"stop"}`), fault.Protocol, true, "has no message", nil},
		{"another role", body(`{"finish_reason":"stop","message":{"role":"user","content":"x"}}`), fault.Protocol, true, `of role "user"`, nil},
		{"no reason", body(`{"message":{"content":"x"}}`), fault.Protocol, true, "no finish reason", nil},
		{"a wrong reason", body(`{"message":{"content":"x"},"finish_reason":"tired"}`), fault.Protocol, true, `unknown finish reason: "tired"`, nil},
		{"an aborted answer", body(`{"message":{"content":"x"},"finish_reason":"abort"}`), fault.Protocol, true, "aborted the answer", nil},
		{"a nameless call", body(`{"message":{"tool_calls":[{"id":"1"}]},"finish_reason":"stop"}`), fault.Protocol, true, "names no function", nil},
		{"impossible usage", chattest.Reply{Body: `{"usage":{"prompt_tokens":-3}}`}, fault.Protocol, true, "impossible token counts", nil},
		{"log-probability NaN", probs(`{"content":[{"id":1,"logprob":NaN}]}`), fault.Protocol, true, "a number of the answer is not finite", nil},
		{"log-probability infinite", probs(`{"content":[{"id":1,"logprob":-Infinity}]}`), fault.Protocol, true, "not finite", nil},
		{"twice", chattest.Reply{Body: `{"choices":[],"model":"a","model":"b"}`}, fault.Protocol, true, "ambiguous: model is given twice", nil},
		{"another case", chattest.Reply{Body: `{"Choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`}, fault.Protocol, true, "has no choices", nil},
		{"log-probability too large", probs(`{"content":[{"id":1,"logprob":-1e999}]}`), fault.Protocol, true, "out of range: the number -1e999", nil},
		{"log-probability null", probs(`{"content":[{"id":1,"logprob":null}]}`), fault.Protocol, true, "token 0 of the answer is not a number", nil},
		{"log-probability above 0", probs(`{"content":[{"id":1,"logprob":0.5}]}`), fault.Protocol, true, "is 0.5, which is above 0", nil},
		{"a negative id", probs(`{"content":[{"id":-1,"logprob":-1}]}`), fault.Protocol, true, "has the id -1", nil},
		{"an id too large", probs(`{"content":[{"id":4294967296,"logprob":-1}]}`), fault.Protocol, true, "number 4294967296", nil},
		{"no log-probabilities", probs(`null`), fault.Protocol, true, "log-probabilities were requested", nil},
		{"empty log-probabilities", probs(`{"content":[]}`), fault.Protocol, true, "log-probabilities were requested", nil},
		{"ids without log-probabilities", body(`{"token_ids":[5],"finish_reason":"stop","message":{"content":"x"}}`), fault.Protocol, true, "log-probabilities were requested", nil},
		{"fewer ids than log-probabilities", body(`{"token_ids":[5],"logprobs":{"content":[{"logprob":-1},{"logprob":-2}]},"finish_reason":"stop","message":{"content":"x"}}`), fault.Protocol, true, "1 token ids and 2 log-probabilities", nil},
		{"404", fail(404, "NotFoundError", "The model `small` does not exist."), fault.Missing, false, "does not have this model or path", chat.ErrClient},
		{"401 without a key", fail(401, "", ""), fault.Missing, false, "requires an API key", chat.ErrClient},
		{"a redirect", chattest.Reply{Status: 307, Header: map[string]string{"Location": "http://192.0.2.1/steal"}}, fault.Refused, false, "not followed", nil},
		{"400", fail(400, "invalid_request_error", "top_q is unknown"), fault.Invalid, true, "refuses the request (400: top_q is unknown)", nil},
		{"204", chattest.Reply{Status: 204}, fault.Protocol, true, "unexpected status", nil},
		{"a filter", fail(400, "content_filter", "no"), fault.Refused, false, "400: no", chat.ErrFilter},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := chattest.New(t, 0, always(c.reply))
			q := ask("x")
			q.LogProbs = true
			r, err := quick(t, server.URL).Complete(t.Context(), q)
			require.Nil(t, r)
			require.ErrorIs(t, err, fault.Of(fault.Model, c.kind))
			require.Equal(t, c.again, fault.Retryable(err))
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, "small at 127.0.0.1")
			require.NotEmpty(t, fault.As(err).Hint)
			require.Less(t, len(err.Error()), 600)
			require.Len(t, server.Calls(), map[bool]int{false: 1, true: 3}[c.again])
			for _, sentinel := range []error{chat.ErrContext, chat.ErrFilter, chat.ErrBudget, chat.ErrClient} {
				require.Equal(t, c.is == sentinel, errors.Is(err, sentinel))
			}
		})
	}
}

// Promise: an invalid answer costs one request; the client retries, and the next answer
// counts.
func TestAnOddAnswerIsAskedAgain(t *testing.T) {
	for name, odd := range map[string]chattest.Reply{
		"a page":       {Body: "<html>maintenance"},
		"events":       {Body: "data: {}\n\n"},
		"a list":       {Body: "[]"},
		"two choices":  body(`{},{}`),
		"no message":   body(`{"finish_reason":"stop"}`),
		"bad usage":    {Body: `{"usage":{"prompt_tokens":-3}}`},
		"an odd token": probs(`{"content":[{"id":-1,"logprob":-1}]}`),
		"400":          chattest.Fail(400, "invalid_request_error", "cannot parse"),
		"204":          {Status: 204},
	} {
		server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
			if c.Number == 0 {
				return odd
			}
			return probs(`{"content":[{"id":1,"logprob":-1}]}`)
		})
		client, q := quick(t, server.URL), ask("x")
		q.LogProbs = true
		for range 3 {
			_, err := client.Complete(t.Context(), q)
			require.NoError(t, err, name)
		}
		require.Len(t, server.Calls(), 4, name)
	}
}

// Promise: a conversation that is too long is recognized in the error messages of every
// server. Sources: llama.cpp (observed), OpenAI's reference, issues and sources of vLLM (0.4,
// 0.9, 0.15) and SGLang.
func TestContextOverflow(t *testing.T) {
	for name, reply := range map[string]chattest.Reply{
		"llama.cpp":   {Status: 400, Body: `{"error":{"code":400,"message":"request (931 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":931,"n_ctx":512}}`},
		"OpenAI":      {Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
		"vLLM old":    {Status: 400, Body: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","code":400}`},
		"vLLM engine": {Status: 400, Body: `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}`},
		"vLLM rest":   {Status: 400, Body: `{"object":"error","message":"max_tokens must be at least 1, got -186.","type":"BadRequestError","code":400}`},
		"SGLang":      {Status: 400, Body: `{"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError","code":400}`},
		"SGLang sum":  {Status: 400, Body: `{"detail":"Requested token count exceeds the model's maximum context length of 4096 tokens."}`},
		"gateway":     {Status: 413, Body: `{"error":"prompt is too long: 5000 tokens > 4096 maximum"}`},
	} {
		server := chattest.New(t, 0, always(reply))
		_, err := quick(t, server.URL).Complete(t.Context(), ask("x"))
		require.ErrorIs(t, err, chat.ErrContext, name)
		require.ErrorIs(t, err, fault.Of(fault.Model, fault.Exhausted))
		require.False(t, fault.Retryable(err))
		require.Len(t, server.Calls(), 1)
	}
}

// Promise: a temporary failure is retried until it has passed, not before the server allows
// it, and is counted.
func TestRetries(t *testing.T) {
	server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if c.Number < 2 {
			return chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": "0.02"}}
		}
		return chattest.Say("at last")
	})
	c := quick(t, server.URL)
	start := time.Now()
	r, err := c.Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	require.Equal(t, "at last", r.Text)
	require.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)
	require.Equal(t, chat.Totals{Answers: 1, Retries: 2}, c.Totals())
}

// Promise: if a server asks for a longer wait than allowed, in either form of Retry-After, the
// client does not wait.
func TestRetryAfterTooLong(t *testing.T) {
	for _, header := range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), "1e300"} {
		server := chattest.New(t, 0, always(chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": header}}))
		_, err := quick(t, server.URL).Complete(t.Context(), ask("x"))
		require.ErrorContains(t, err, "asks to wait for")
		require.True(t, fault.Retryable(err))
		require.Len(t, server.Calls(), 1)
	}
}

// Promise: a wait that a server requests with Retry-After applies to every request: one of a
// restarted episode waits for the rest of it, and one with an earlier deadline fails without
// being sent.
func TestRetryAfterHoldsForLaterRequests(t *testing.T) {
	testneeds.NotShort(t)
	server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if c.Number == 0 {
			return chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": "2"}}
		}
		return chattest.Say("at last")
	})
	c := quick(t, server.URL, func(k *chat.Config) { k.Backoff, k.MaxBackoff = 100*time.Millisecond, 300*time.Millisecond })
	start := time.Now()
	_, err := c.Complete(t.Context(), ask("x"))
	require.ErrorContains(t, err, "asks to wait for")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Complete(ctx, ask("x"))
	require.True(t, fault.Retryable(err))
	require.Len(t, server.Calls(), 1)
	r, err := c.Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	require.Equal(t, "at last", r.Text)
	require.GreaterOrEqual(t, time.Since(start), 2*time.Second)
	require.Len(t, server.Calls(), 2)
}

// Promise: a server that is slower than the deadline, or sends without end, is cut off; so is
// one that sends too much or endless headers.
func TestHostileServers(t *testing.T) {
	testneeds.NotShort(t)
	stuck := chattest.New(t, 0, always(chattest.Reply{Until: make(chan struct{})}))
	short := func(c *chat.Config) { c.Timeout, c.Retries, c.MaxResponse = 20*time.Millisecond, 1, 1<<20 }
	_, err := quick(t, stuck.URL, short).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Timeout))
	require.ErrorContains(t, err, "no answer came within 20ms, also at attempt 2")
	require.True(t, fault.Retryable(err))

	silent := chattest.New(t, 0, always(chattest.Reply{Body: "{", Hang: true}))
	// The headers arrive in time even on a busy machine; the end never does.
	_, err = quick(t, silent.URL, short, func(c *chat.Config) { c.Timeout, c.Retries = 3*time.Second, 0 }).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Timeout))
	require.ErrorContains(t, err, "the answer did not finish within 3s")

	small := func(c *chat.Config) { c.MaxResponse = 1 << 20 }
	for name, reply := range map[string]chattest.Reply{
		"endless": {Body: " ", Endless: true},
		"huge":    {Body: strings.Repeat(" ", 2<<20)},
	} {
		server := chattest.New(t, 0, always(reply))
		_, err := quick(t, server.URL, small).Complete(t.Context(), ask("x"))
		require.ErrorIs(t, err, fault.Of(fault.Model, fault.Refused), name)
		require.ErrorContains(t, err, "longer than 1048576 bytes")
		require.Len(t, server.Calls(), 1)
	}
	headers := map[string]string{}
	for i := range 100 {
		headers["X-"+strconv.Itoa(i)] = strings.Repeat("x", 1<<10)
	}
	server := chattest.New(t, 0, always(chattest.Reply{Header: headers}))
	_, err = quick(t, server.URL).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Crashed))
	require.ErrorContains(t, err, "headers exceeded")
}

// Promise: only the configured server gets the key and the conversation.
func TestRedirectGoesNowhere(t *testing.T) {
	thief := chattest.New(t, 0, always(chattest.Say("mine")))
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := chattest.New(t, 0, always(chattest.Reply{Status: status, Header: map[string]string{"Location": thief.URL + "/chat/completions"}}))
		_, err := quick(t, server.URL, withKey).Complete(t.Context(), ask("x"))
		require.ErrorIs(t, err, fault.Of(fault.Model, fault.Refused))
	}
	require.Empty(t, thief.Calls())
}

// Promise: an API key that a server rejects or echoes is in no error.
func TestKeyStaysSecret(t *testing.T) {
	server := chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		return chattest.Fail(401, "invalid_api_key", "Incorrect API key provided: "+c.Header.Get("Authorization"))
	})
	_, err := quick(t, server.URL, withKey).Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Invalid))
	require.Contains(t, fault.As(err).Hint, "MODEL_KEY")
	require.ErrorContains(t, err, "Bearer ***")
	require.NotContains(t, err.Error(), key)
}

// Promise: an unreachable server, one without TLS and one with an untrusted certificate each
// have their own error.
func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := listener.Addr().String()
	require.NoError(t, listener.Close())
	plain := chattest.New(t, 0, always(chattest.Say("x")))
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, c := range []struct {
		url, text string
		kind      fault.Kind
		again     bool
	}{
		{"http://" + gone, "connection refused", fault.Crashed, true},
		{strings.Replace(plain.URL, "http:", "https:", 1), "does not speak TLS", fault.Invalid, false},
		{secure.URL, "certificate cannot be verified", fault.Refused, false},
	} {
		_, err := quick(t, c.url).Complete(t.Context(), ask("x"))
		require.ErrorIs(t, err, fault.Of(fault.Model, c.kind), c.text)
		require.ErrorContains(t, err, c.text)
		require.Equal(t, c.again, fault.Retryable(err))
	}
}
