package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// exchange is a request and its response, in the pieces in which they are sent.
type exchange struct {
	asked, said [][]byte
	status      int
	header      http.Header
}

// bytesOf returns a random body: valid calls and answers, parts of them, and other bytes.
func bytesOf(r *rand.Rand) [][]byte {
	all := []string{messagesAsked, messagesSaid, messagesStreamed, question, whole, streamed, "event: error\ndata: {}\n\n", "\x00\xff\xfe", "", "data: ", "\r\n"}
	var body []byte
	for range r.IntN(3) {
		text := all[r.IntN(len(all))]
		body = append(body, text[:r.IntN(len(text)+1)]...)
	}
	for range r.IntN(200) {
		body = append(body, byte(r.Uint32()))
	}
	var pieces [][]byte
	for len(body) > 0 {
		n := 1 + r.IntN(len(body))
		pieces, body = append(pieces, body[:n]), body[n:]
	}
	return pieces
}

func exchanged(r *rand.Rand) exchange {
	x := exchange{asked: bytesOf(r), said: bytesOf(r), header: http.Header{}}
	x.status = []int{200, 200, 200, 201, 400, 401, 404, 413, 429, 500, 503, 529}[r.IntN(12)]
	x.header.Set("Content-Type", []string{"application/json", "text/event-stream", "text/plain; charset=utf-8", "image/png"}[r.IntN(4)])
	x.header.Set("Request-Id", fmt.Sprint("req_", r.Uint32()))
	for _, more := range []string{"Retry-After", "X-Should-Retry", "Anthropic-Ratelimit-Tokens-Remaining", "Set-Cookie"} {
		if r.IntN(2) == 0 {
			x.header.Add(more, fmt.Sprint(r.IntN(9)))
		}
	}
	if r.IntN(5) == 0 {
		x.header.Set("Content-Encoding", []string{"gzip", "br", "zstd", "x-unknown"}[r.IntN(4)]) // not true: the proxy cannot read it
	}
	return x
}

// Promise: whatever an agent and a server send each other, in whatever pieces, valid or not, both
// get the same bytes, status and headers as without the proxy.
func TestBytesPassUnchanged(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	var now exchange
	got := make(chan []byte, 1)
	s := open(t, func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		got <- body
		for name, values := range now.header {
			w.Header()[name] = values
		}
		w.WriteHeader(now.status)
		for _, piece := range now.said {
			_, _ = w.Write(piece)
			w.(http.Flusher).Flush()
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	for i := range 400 {
		now = exchanged(r)
		path := []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/messages?beta=true", "/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/models"}[r.IntN(7)]
		var pieces []io.Reader
		for _, piece := range now.asked {
			pieces = append(pieces, bytes.NewReader(piece))
		}
		q, err := http.NewRequest(http.MethodPost, s.url+path, io.MultiReader(pieces...))
		require.NoError(t, err)
		answer, err := client.Do(q)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, string(bytes.Join(now.asked, nil)), string(<-got), "%d: the request of %s", i, path)
		require.Equal(t, string(bytes.Join(now.said, nil)), string(body), "%d: the response of %s", i, path)
		require.Equal(t, now.status, answer.StatusCode)
		for name, values := range now.header {
			require.Equal(t, values, answer.Header[name], "%d: %s", i, name)
		}
	}
	require.NotEmpty(t, s.prompts())
	require.Zero(t, s.proxy.Stats().Lost)
}
