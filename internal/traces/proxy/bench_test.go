package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/traces/proxy"
	"github.com/merit-rl/merit/internal/traces/trace"
)

type nobody struct{}

func (nobody) Put(context.Context, []trace.Span, []trace.About) error { return nil }

// BenchmarkThroughProxy is calls of chat/completions and of Anthropic's messages over sockets
// to a server that answers at once, straight and through the proxy by turns: medians of
// both, and of what the proxy adds.
func BenchmarkThroughProxy(b *testing.B) {
	for _, api := range []struct{ name, path, body, whole, stream string }{
		{"", "/v1/chat/completions", question, whole, streamed},
		{"messages/", "/v1/messages", messagesAsked, messagesSaid, messagesStreamed},
	} {
		long := strings.Replace(api.body, "weather?", strings.Repeat("what is the weather like? ", 4000), 1) // 100 kB
		for _, size := range []struct{ name, body string }{{"1kB", api.body}, {"100kB", long}} {
			for _, answer := range []struct{ name, body string }{{"whole", api.whole}, {"stream", api.stream}} {
				b.Run(api.name+size.name+"/"+answer.name, func(b *testing.B) { through(b, api.path, size.body, answer.body) })
			}
		}
	}
}

// through measures calls of one kind.
func through(b *testing.B, path, body, answer string) {
	up := httptest.NewServer(answers(answer))
	defer up.Close()
	to, err := url.Parse(up.URL)
	require.NoError(b, err)
	p, err := proxy.New(proxy.Options{Upstream: to, Sink: nobody{}})
	require.NoError(b, err)
	front := httptest.NewServer(p)
	defer front.Close()
	var direct, through, more []float64
	for b.Loop() {
		d, t := timed(b, up.URL+path, body), timed(b, front.URL+path, body)
		direct, through, more = append(direct, d), append(through, t), append(more, t-d)
	}
	b.ReportMetric(median(direct), "direct-µs")
	b.ReportMetric(median(through), "proxy-µs")
	b.ReportMetric(median(more), "added-µs")
	require.NoError(b, p.Close(context.Background()))
}

// timed is how many microseconds a call takes until its last byte.
func timed(b *testing.B, url, body string) float64 {
	start := time.Now()
	got, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(b, err)
	_, _ = io.Copy(io.Discard, got.Body)
	got.Body.Close()
	return float64(time.Since(start).Nanoseconds()) / 1000
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}
