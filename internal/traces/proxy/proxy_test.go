package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/proxy"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// kept is a sink that holds what it is given to the rules of stores.
type kept struct {
	mu    sync.Mutex
	spans []trace.Span
	about map[string]trace.About
}

func (k *kept) Put(_ context.Context, spans []trace.Span, about []trace.About) error {
	for i := range spans {
		if err := spans[i].Check(); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, spans...)
	for _, a := range about {
		if k.about == nil {
			k.about = map[string]trace.About{}
		}
		k.about[a.Trace] = a
	}
	return nil
}

func (k *kept) of(kind trace.Kind) (spans []trace.Span) {
	for _, s := range k.spans {
		if s.Kind == kind {
			spans = append(spans, s)
		}
	}
	return spans
}

// stand is a proxy before a server, both on real sockets.
type stand struct {
	*testing.T
	sink  *kept
	proxy *proxy.Proxy
	url   string
}

func open(t *testing.T, server http.HandlerFunc, change ...func(*proxy.Options)) *stand {
	t.Helper()
	up := httptest.NewServer(server)
	t.Cleanup(up.Close)
	to, err := url.Parse(up.URL + "/v1")
	require.NoError(t, err)
	s := &stand{T: t, sink: &kept{}}
	o := proxy.Options{Upstream: to, Sink: s.sink}
	for _, c := range change {
		c(&o)
	}
	s.proxy, err = proxy.New(o)
	require.NoError(t, err)
	front := httptest.NewServer(s.proxy)
	t.Cleanup(front.Close)
	s.url = front.URL
	return s
}

func (s *stand) post(path, body string, headers ...string) (int, string) {
	s.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	require.NoError(s, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s, err)
	return answer.StatusCode, string(text)
}

// prompts ends the proxy and gives what it recorded.
func (s *stand) prompts() []trace.Span {
	s.Helper()
	require.NoError(s, s.proxy.Close(context.Background()))
	return s.sink.of(trace.KindPrompt)
}

func answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
			w.Header().Set("Content-Type", "text/event-stream")
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = io.WriteString(w, body)
	}
}

const question = `{"model": "m", "temperature": 0.5, "api_key": "in-the-body", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"}],
	"tools": [{"type": "function", "function": {"name": "weather"}}]}`

const whole = `{"id": "c1", "model": "m-1", "choices": [{"index": 0, "finish_reason": "tool_calls", "token_ids": [7, 8],
	"message": {"role": "assistant", "content": "let me see", "reasoning_content": "I do not know", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "weather", "arguments": "{\"at\": \"Bonn\"}"}}]},
	"logprobs": {"content": [{"token": "let", "logprob": -0.25}, {"token": " me", "logprob": -1.5}]}}],
	"prompt_token_ids": [1, 2, 3], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}`

var streamed = "data: " + strings.Join([]string{
	`{"id": "c1", "model": "m-1", "prompt_token_ids": [1, 2, 3], "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}`,
	`{"choices": [{"index": 0, "delta": {"reasoning_content": "I do "}}]}`,
	`{"choices": [{"index": 0, "delta": {"reasoning_content": "not know"}}]}`,
	`{"choices": [{"index": 0, "delta": {"content": "let"}, "token_ids": [7], "logprobs": {"content": [{"token": "let", "logprob": -0.25}]}}]}`,
	`{"choices": [{"index": 0, "delta": {"content": " me see"}, "token_ids": [8], "logprobs": {"content": [{"token": " me", "logprob": -1.5}]}}]}`,
	`{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": {"name": "weather", "arguments": ""}}]}}]}`,
	`{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"at\": "}}]}}]}`,
	`{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "\"Bonn\"}"}}]}}]}`,
	`{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}`,
	`{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}`,
}, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"

// Promise: an answer passes through byte for byte, whole or as a stream, and
// both are recorded as the same span: messages, tools, calls, thoughts, usage,
// log-probabilities and the ids of tokens.
func TestWholeAndStream(t *testing.T) {
	for name, body := range map[string]string{"whole": whole, "stream": streamed} {
		t.Run(name, func(t *testing.T) {
			s := open(t, answers(body))
			status, got := s.post("/v1/chat/completions", question, "X-Merit-Agent", "planner", "X-Merit-Task", "bonn")
			require.Equal(t, 200, status)
			require.Equal(t, body, got)
			spans := s.prompts()
			require.Len(t, spans, 1)
			span := spans[0]
			require.Equal(t, trace.StatusOK, span.Status, span.Error)
			require.Equal(t, "planner", span.Agent)
			text, err := json.Marshal(span.Prompt)
			require.NoError(t, err)
			require.JSONEq(t, `{"model": "m-1", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"}],
				"tools": [{"type": "function", "function": {"name": "weather"}}], "settings": {"temperature": 0.5}, "finish_reason": "tool_calls",
				"answer": {"role": "assistant", "content": "let me see", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "weather", "arguments": "{\"at\": \"Bonn\"}"}}]},
				"usage": {"prompt_tokens": 3, "completion_tokens": 2}, "prompt_tokens": [1, 2, 3],
				"tokens": [{"id": 7, "text": "let", "log_prob": -0.25}, {"id": 8, "text": " me", "log_prob": -1.5}]}`, string(text))
			thoughts := s.sink.of(trace.KindReasoning)
			require.Len(t, thoughts, 1)
			require.Equal(t, "I do not know", thoughts[0].Text)
			require.Equal(t, span.ID, thoughts[0].Parent)
			require.Equal(t, trace.About{Trace: span.Trace, Agent: "planner", Task: "bonn", Status: trace.StatusOpen}, s.sink.about[span.Trace])
		})
	}
}

// Promise: a chunk reaches the agent before the server writes the next.
func TestChunksAtOnce(t *testing.T) {
	read := make(chan string)
	s := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"%d\"}}]}\n\n", i)
			w.(http.Flusher).Flush()
			<-read // else it would wait for ever
		}
		_, _ = io.WriteString(w, "data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	answer, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(question))
	require.NoError(t, err)
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for range 3 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		_, _ = lines.ReadString('\n')
		read <- line
	}
	_, err = io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "012", s.prompts()[0].Prompt.Answer.Content.Text())
}

// Promise: what is not a call of a model passes through and is counted, not
// recorded; and paths meet whether agent, upstream or both say the version.
func TestPassedThrough(t *testing.T) {
	paths := make(chan string, 8)
	s := open(t, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Merit-") {
				t.Errorf("the upstream got %s", name)
			}
		}
		paths <- r.Method + " " + r.URL.RequestURI()
	})
	answer, err := http.Get(s.url + "/v1/models?limit=3")
	require.NoError(t, err)
	answer.Body.Close()
	s.post("/embeddings", `{}`, "X-Merit-Trace", "t")
	s.post("/t/a%20b/a/agent%2F1/v1/chat/completions", question)
	require.Equal(t, "GET /v1/models?limit=3", <-paths)
	require.Equal(t, "POST /v1/embeddings", <-paths)
	require.Equal(t, "POST /v1/chat/completions", <-paths)
	spans := s.prompts()
	require.Len(t, spans, 1)
	require.Regexp(t, "^a-b-[0-9a-f]{16}$", spans[0].Trace, "an id that cannot be one fails no call")
	require.Equal(t, "agent/1", spans[0].Agent)
	require.Equal(t, proxy.Stats{Recorded: 1, Passed: 2, Failed: 1}, s.proxy.Stats())
}

// Promise: whose a call is, headers say before the path and the path before
// traceparent.
func TestWhose(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		path    string
		headers []string
		want    [3]string // trace, parent, agent
	}{
		{"", []string{"X-Merit-Trace", "t", "X-Merit-Agent", "a", "X-Merit-Parent", "p"}, [3]string{"t", "p", "a"}},
		{"/t/path/a/b", []string{"X-Merit-Trace", "t"}, [3]string{"t", "", "b"}},
		{"/t/path", []string{"Traceparent", parent}, [3]string{"path", "", "default"}},
		{"/a/b/task/x", []string{"Traceparent", parent}, [3]string{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "b"}},
	} {
		s := open(t, answers(whole), func(o *proxy.Options) { o.Agent = "default" })
		s.post(c.path+"/v1/chat/completions", question, c.headers...)
		span := s.prompts()[0]
		require.Equal(t, c.want, [3]string{span.Trace, span.Parent, span.Agent}, c.path)
	}
}

// Promise: metadata that an agent sends are the trace's, ground truth among them.
func TestMetadata(t *testing.T) {
	s := open(t, answers(whole))
	s.post("/v1/chat/completions", question, "X-Merit-Trace", "t", "X-Merit-Metadata", `{"ground_truth": "12 °C", "group": "g"}`)
	s.post("/v1/chat/completions", question, "X-Merit-Trace", "u", "X-Merit-Metadata", `nonsense`)
	spans := s.prompts()
	require.Equal(t, `"12 °C"`, string(s.sink.about["t"].Metadata["ground_truth"]))
	require.Contains(t, string(spans[1].Attributes["problem"]), "X-Merit-Metadata is not a JSON object")
}

// Promise: fields are added to requests only if the operator asks for it, and
// never over an agent's own.
func TestAddedFields(t *testing.T) {
	got := make(chan string, 1)
	server := func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got <- string(text)
		_, _ = io.WriteString(w, whole)
	}
	s := open(t, server)
	s.post("/v1/chat/completions", question)
	require.Equal(t, question, <-got)
	s = open(t, server, func(o *proxy.Options) {
		o.Add = json.RawMessage(`{"logprobs": true, "temperature": 9, "stream_options": {"include_usage": true}}`)
	})
	s.post("/v1/chat/completions", question)
	var sent map[string]any
	require.NoError(t, json.Unmarshal([]byte(<-got), &sent))
	require.Equal(t, true, sent["logprobs"])
	require.Equal(t, 0.5, sent["temperature"])
	require.NotContains(t, sent, "stream_options")
}
