package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/trace"
	"github.com/merit-rl/merit/core/trace/proxy"
)

type nobody struct{}

func (nobody) Put(context.Context, []trace.Span, []trace.About) error { return nil }

// BenchmarkCall is one call of chat/completions over sockets, one after
// another: straight to a server that answers at once, and through the proxy,
// which records it. The difference is what the proxy adds.
func BenchmarkCall(b *testing.B) {
	long := strings.Replace(question, "weather?", strings.Repeat("what is the weather like? ", 4000), 1) // 100 kB
	for _, size := range []struct{ name, body string }{{"1kB", question}, {"100kB", long}} {
		for _, answer := range []struct{ name, body string }{{"whole", whole}, {"stream", streamed}} {
			up := httptest.NewServer(answers(answer.body))
			b.Cleanup(up.Close)
			to, err := url.Parse(up.URL)
			require.NoError(b, err)
			p, err := proxy.New(proxy.Options{Upstream: to, Sink: nobody{}})
			require.NoError(b, err)
			front := httptest.NewServer(p)
			b.Cleanup(front.Close)
			for _, way := range []struct{ name, url string }{{"direct", up.URL}, {"proxy", front.URL}} {
				b.Run(size.name+"/"+answer.name+"/"+way.name, func(b *testing.B) {
					for b.Loop() {
						got, err := http.Post(way.url+"/v1/chat/completions", "application/json", strings.NewReader(size.body))
						if err != nil {
							b.Fatal(err)
						}
						_, _ = io.Copy(io.Discard, got.Body)
						got.Body.Close()
					}
				})
			}
			b.Cleanup(func() { require.NoError(b, p.Close(context.Background())) })
		}
	}
}
