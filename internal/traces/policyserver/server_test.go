package policyserver_test

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/internal/traces/policyserver"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

func serve(t *testing.T, change func(*policyserver.Config)) *policyserver.Server {
	cfg, err := merit.PlayConfig("traces.choices=[left, right, stay]")
	require.NoError(t, err)
	p, err := learning.Untrained(t.Context(), cfg)
	require.NoError(t, err)
	c := policyserver.DefaultConfig()
	c.Listen = "127.0.0.1:0"
	if change != nil {
		change(&c)
	}
	s, err := policyserver.Open(p, c)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
		require.NoError(t, p.Close())
	})
	return s
}

func ask(t *testing.T, s *policyserver.Server, body string, headers ...string) (int, string) {
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			q.Host = headers[i+1]
		}
	}
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text)
}

// Promise: an agent that speaks OpenAI's API gets one of the answers that it
// offers, how likely it was, and the same again for the same seed, whole or as a
// stream.
func TestAnswers(t *testing.T) {
	s := serve(t, nil)
	const question = `{"model":"x","messages":[{"role":"user","content":"where to?"}],"guided_choice":["left","right"],"logprobs":true,"seed":7}`
	status, first := ask(t, s, question)
	require.Equal(t, http.StatusOK, status, first)
	var c struct {
		Choices []struct {
			Message  struct{ Content string }
			Finish   string `json:"finish_reason"`
			LogProbs struct {
				Content []struct {
					Token   string
					LogProb float64
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(first), &c))
	said := c.Choices[0].Message.Content
	require.Contains(t, []string{"left", "right"}, said)
	require.Equal(t, "stop", c.Choices[0].Finish)
	require.Equal(t, said, c.Choices[0].LogProbs.Content[0].Token)
	require.InDelta(t, math.Log(0.5), c.Choices[0].LogProbs.Content[0].LogProb, 0.1, "among two, before training")

	_, stream := ask(t, s, strings.Replace(question, `"seed"`, `"stream":true,"seed"`, 1))
	require.Contains(t, stream, `"content":"`+said+`"`)
	require.True(t, strings.HasSuffix(stream, "data: [DONE]\n\n"), stream)

	seen := map[string]bool{}
	for range 64 {
		_, text := ask(t, s, `{"messages":[{"role":"user","content":"where to?"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"enum":["left","stay"]}}}}`)
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		seen[c.Choices[0].Message.Content] = true
	}
	require.Equal(t, map[string]bool{"left": true, "stay": true}, seen, "without a seed it samples")
}

// Promise: what cannot be answered is said in the form of the API, and the page
// of a browser or somebody without the key gets nothing.
func TestRefusals(t *testing.T) {
	open, locked := serve(t, nil), serve(t, func(c *policyserver.Config) { c.Key = "a-key-that-nobody-guesses" })
	const fine = `{"messages":[{"role":"user","content":"?"}]}`
	for _, c := range []struct {
		server  *policyserver.Server
		body    string
		headers []string
		status  int
		want    string
	}{
		{open, `{`, nil, 400, "the body is not a chat completion request"},
		{open, `{"messages":[]}`, nil, 400, "the call has no messages"},
		{open, `{"messages":[{"role":"user","content":"?"}],"guided_choice":["up"]}`, nil, 400, `\"up\" is not one of its answers`},
		{open, `{"messages":[{"role":"user","content":"?"}],"temperature":0.7}`, nil, 400, "not 0.7"},
		{open, `{"messages":[{"role":"user","content":"?"}],"n":2}`, nil, 400, "send one request for each answer"},
		{open, fine, []string{"Host", "evil.example"}, 403, "only for localhost"},
		{open, fine, []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{locked, fine, nil, 401, "send the server's key"},
		{locked, fine, []string{"Authorization", "Bearer a-key-that-nobody-guesses"}, 200, `"content"`},
	} {
		status, text := ask(t, c.server, c.body, c.headers...)
		require.Equal(t, c.status, status, text)
		require.Contains(t, text, c.want)
	}
	_, err := policyserver.Open(nil, policyserver.Config{Listen: "0.0.0.0:0"})
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
}
