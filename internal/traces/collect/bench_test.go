package collect_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

type nowhere struct{}

func (nowhere) Put(context.Context, []trace.Span, []trace.About) error { return nil }

// BenchmarkRead turns what smolagents' exporter sends into spans.
func BenchmarkRead(b *testing.B) {
	var request service.ExportTraceServiceRequest
	require.NoError(b, proto.Unmarshal(recorded(b, "smolagents"), &request))
	spans := len(collect.Read(&request).Spans)
	b.ReportAllocs()
	for b.Loop() {
		collect.Read(&request)
	}
	b.ReportMetric(float64(spans*b.N)/b.Elapsed().Seconds(), "spans/s")
}

// BenchmarkHandler is the whole of a request but its store.
func BenchmarkHandler(b *testing.B) {
	for name, body := range map[string][]byte{"protobuf": recorded(b, "smolagents"), "json": otlpJSON(b, recorded(b, "smolagents"))} {
		b.Run(name, func(b *testing.B) {
			c := collect.New(collect.Options{Sink: nowhere{}})
			h := c.Handler()
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/v1/traces", bytes.NewReader(body))
				r.Header.Set("Content-Type", map[string]string{"protobuf": "application/x-protobuf", "json": "application/json"}[name])
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				require.Equal(b, 200, w.Code)
			}
			b.ReportMetric(float64(c.Counts().Spans)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}
