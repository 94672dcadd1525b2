package chat_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// quick is a client of a scripted server with retries after milliseconds instead of seconds.
func quick(t *testing.T, url string, change ...func(*chat.Config)) *chat.Client {
	t.Helper()
	config := chat.DefaultConfig()
	config.URL, config.Model = url, "small"
	config.Timeout, config.Backoff, config.MaxBackoff, config.Retries = time.Minute, time.Millisecond, 50*time.Millisecond, 2
	for _, f := range change {
		f(&config)
	}
	c, err := chat.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func ask(text string) chat.Request {
	return chat.Request{Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text(text)}}}
}

// always gives the same reply to every request.
func always(reply chattest.Reply) func(chattest.Call) chattest.Reply {
	return func(chattest.Call) chattest.Reply { return reply }
}

const key = "sk-0123456789abcdef0123456789"

func withKey(c *chat.Config) {
	c.KeyEnv, c.Lookup = "MODEL_KEY", func(name string) (string, bool) { return key, name == "MODEL_KEY" }
}

// Promise: the same request has the same bytes, contains only what was set, and puts what
// requests share before what differs.
func TestRequest(t *testing.T) {
	server := chattest.New(t, 0, always(chattest.Say("hello <you>")))
	c := quick(t, server.URL, withKey, func(c *chat.Config) {
		c.Extra = map[string]any{"top_k": 0, "min_p": 0, "chat_template_kwargs": map[string]any{"b": 1, "a": 2}}
	})
	q := ask("1 < 2 & 3")
	q.Messages = append([]rl.Message{{Role: rl.RoleSystem, Content: rl.Text("be brief")}}, q.Messages...)
	q.Tools = json.RawMessage(`[ {"type": "function"} ]`)
	q.ToolChoice, q.Schema, q.MaxTokens, q.Stop = "auto", json.RawMessage(`{"type": "object"}`), 9, []string{"\n"}
	q.Temperature, q.TopP, q.Seed = new(0.0), new(1.0), new(int64(7))
	for range 2 {
		r, err := c.Complete(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, "hello <you>", r.Text)
		require.Equal(t, chat.FinishStop, r.Finish)
	}
	_, err := c.Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	calls := server.Calls()
	require.Equal(t, `{"model":"small","tools":[{"type":"function"}],"tool_choice":"auto",`+
		`"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},`+
		`"chat_template_kwargs":{"a":2,"b":1},"min_p":0,"top_k":0,"temperature":0,"top_p":1,"max_tokens":9,"stop":["\n"],`+
		`"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"1 < 2 & 3"}],"seed":7}`, string(calls[0].Body))
	require.Equal(t, calls[0].Body, calls[1].Body)
	require.Equal(t, `{"model":"small","chat_template_kwargs":{"a":2,"b":1},"min_p":0,"top_k":0,"messages":[{"role":"user","content":"x"}]}`, string(calls[2].Body))
	require.Equal(t, "/v1/chat/completions", calls[0].Path)
	require.Equal(t, "Bearer "+key, calls[0].Header.Get("Authorization"))
	require.Equal(t, "application/json", calls[0].Header.Get("Content-Type"))
}

// Promise: a request that no server accepts is rejected before it is sent.
func TestBadRequests(t *testing.T) {
	testneeds.NotShort(t)
	server := chattest.New(t, 0, always(chattest.Say("")))
	c := quick(t, server.URL)
	for name, spoil := range map[string]func(*chat.Request){
		"conversation is empty": func(q *chat.Request) { q.Messages = nil },
		"temperature is -1":     func(q *chat.Request) { q.Temperature = new(-1.0) },
		"top_p is 0":            func(q *chat.Request) { q.TopP = new(0.0) },
		"max_tokens is -1":      func(q *chat.Request) { q.MaxTokens = -1 },
		"seed is 4294967295":    func(q *chat.Request) { q.Seed = new(int64(1<<32 - 1)) },
		`tool_choice is "any"`:  func(q *chat.Request) { q.ToolChoice = "any" },
		"tools: ":               func(q *chat.Request) { q.Tools = json.RawMessage("[") },
		"the limit is":          func(q *chat.Request) { q.Messages[0].Content = rl.Text(strings.Repeat("x", 33<<20)) },
	} {
		q := ask("x")
		spoil(&q)
		_, err := c.Complete(t.Context(), q)
		require.ErrorIs(t, err, fault.Of(fault.Model, fault.Invalid), name)
		require.ErrorContains(t, err, name)
		require.NotEmpty(t, fault.As(err).Hint)
	}
	require.Empty(t, server.Calls())
}

// Promise: all problems of a configuration are reported at once, and a missing key is found
// before the first request.
func TestConfig(t *testing.T) {
	config := chat.Config{URL: "ftp://x", MaxTokensField: "tokens", Extra: map[string]any{"seed": 1, "top_k": 1}, KeyEnv: "NO_SUCH_KEY", Lookup: func(string) (string, bool) { return "", false }}
	config.Budget.Cost, config.Cassettes.Mode = 1, "tape"
	_, err := chat.New(config)
	var keys []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		f := fault.As(e)
		require.Equal(t, fault.Config, f.Boundary)
		require.NotEmpty(t, f.Hint, f.Where)
		keys = append(keys, f.Where)
	}
	require.ElementsMatch(t, []string{
		"url", "model", "timeout", "backoff", "max_concurrent", "max_response", "max_tokens_field",
		"budget.input_price", "cassettes.mode", "cassettes.dir", "extra.seed", "key_env",
	}, keys)
	config = chat.DefaultConfig()
	config.Model, config.KeyEnv = "m", "K"
	for url, want := range map[string]string{"http://u:p@h/v1": "password", "http://h/v1?a=b": "query", "/v1": "not an http or https URL", "": "no server"} {
		config.URL, config.Lookup = url, func(string) (string, bool) { return "a\nb", true }
		_, err := chat.New(config)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "does not hold a valid key")
		require.NotContains(t, err.Error(), "a\nb")
	}
	t.Setenv("K", key)
	config.URL, config.Lookup = "http://h/v1/", nil
	c, err := chat.New(config)
	require.NoError(t, err)
	c.Close()
}

// Promise: a client has no more concurrent requests than configured, and reuses connections.
func TestConcurrency(t *testing.T) {
	release := make(chan struct{})
	server := chattest.New(t, 0, always(chattest.Reply{Body: chattest.Say("x").Body, Until: release}))
	c := quick(t, server.URL, func(c *chat.Config) { c.MaxConcurrent = 3 })
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := c.Complete(t.Context(), ask("x"))
			errs <- err
		}()
	}
	require.Eventually(t, func() bool { return len(server.Calls()) == 3 }, time.Minute, time.Millisecond)
	close(release)
	for range 8 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 3, server.Most())
	require.LessOrEqual(t, server.Connections(), 3)
	require.Equal(t, 8, c.Totals().Answers)
}

// Promise: a caller that cancels returns at once, in whatever state its request is, and one
// whose deadline passed gets a timeout.
func TestCallerGivesUp(t *testing.T) {
	server := chattest.New(t, 0, always(chattest.Reply{Until: make(chan struct{})}))
	c := quick(t, server.URL, func(c *chat.Config) { c.MaxConcurrent = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	for range 2 { // one waits for the server, one for the other request
		go func() {
			_, err := c.Complete(ctx, ask("x"))
			errs <- err
		}()
	}
	require.Eventually(t, func() bool { return len(server.Calls()) == 1 }, time.Minute, time.Millisecond)
	cancel()
	for range 2 {
		err := <-errs
		require.ErrorIs(t, err, fault.Of(fault.Model, fault.Interrupted))
		require.ErrorIs(t, err, context.Canceled)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.Complete(ctx, ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Timeout))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, fault.Retryable(err))
}

// Promise: before the first request, a client can check whether the server responds and has
// the model, and lists the models that it has.
func TestServed(t *testing.T) {
	reply := chattest.Models("small", "large")
	server := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return reply })
	served, err := quick(t, server.URL).Served(t.Context())
	require.NoError(t, err)
	require.Equal(t, &chat.Served{Model: "small", Context: 4096}, served)
	require.Equal(t, http.MethodGet, server.Calls()[0].Method)
	_, err = quick(t, server.URL, func(c *chat.Config) { c.Model = "smal" }).Served(t.Context())
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
	require.Equal(t, []string{"large", "small"}, fault.As(err).Allowed)
	require.Contains(t, fault.As(err).Hint, "small")

	reply = chattest.Fail(404, "not_found_error", "File Not Found")
	served, err = quick(t, server.URL).Served(t.Context())
	require.NoError(t, err)
	require.Equal(t, &chat.Served{Model: "small"}, served, "a server without a list is taken at its word")
	reply = chattest.Fail(401, "", "who are you?")
	_, err = quick(t, server.URL).Served(t.Context())
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
	require.Contains(t, fault.As(err).Hint, "key_env")
}
