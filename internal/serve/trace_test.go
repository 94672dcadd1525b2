package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/merit-rl/merit/internal/serve"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Promise: a request is a span of the caller's trace, named by its route, which contains the loading of the reward and
// the evaluation with its outcomes.
func TestSpans(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	h := newFixture(t, func(o *serve.Options) { o.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans)) })
	for _, x := range []string{"application/json", ndjson} {
		spans.Reset()
		body := "[" + conversation("a", "", "secret") + "]"
		if x == ndjson {
			body = conversation("a", "", "secret")
		}
		resp, text := h.do(t, "POST", "/v1/evaluate?reward=length", body, "Content-Type", x, "Authorization", "Bearer hidden",
			"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		require.Equal(t, 200, resp.StatusCode, text)
		require.Eventually(t, func() bool { return len(spans.GetSpans()) == 3 }, waitABit, poll)
		said := spans.GetSpans()
		require.Equal(t, "load", said[0].Name)
		require.Equal(t, "evaluate", said[1].Name)
		require.Equal(t, "POST /v1/evaluate", said[2].Name)
		require.Equal(t, said[2].SpanContext.SpanID(), said[0].Parent.SpanID())
		require.Equal(t, said[2].SpanContext.SpanID(), said[1].Parent.SpanID())
		require.Equal(t, "0af7651916cd43dd8448eb211c80319c", said[2].SpanContext.TraceID().String())
		require.Equal(t, "b7ad6b7169203331", said[2].Parent.SpanID().String())
		attributes := map[string]string{}
		for _, s := range said {
			for _, a := range s.Attributes {
				attributes[string(a.Key)] = a.Value.String()
				require.NotContains(t, a.Value.String(), "secret")
				require.NotContains(t, a.Value.String(), "hidden")
			}
		}
		require.Equal(t, "200", attributes["http.response.status_code"])
		require.Equal(t, strconv.Itoa(len(text)), attributes["http.response.body.size"])
		require.Equal(t, "length", attributes["merit.reward"])
		require.Equal(t, "1", attributes["merit.trajectories"])
		require.Equal(t, "scored=1", attributes["merit.outcomes"])
	}
}

// Promise: if the environment names an endpoint, spans arrive there over OTLP. Without one
// nothing is traced.
func TestSpansArrive(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	none, shutdown, err := serve.Tracing(t.Context(), "1")
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, shutdown(t.Context()))

	var mu sync.Mutex
	var names, services []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range got.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				services = append(services, a.Key+"="+a.Value.GetStringValue())
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					names = append(names, s.Name)
				}
			}
		}
	}))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	provider, shutdown, err := serve.Tracing(t.Context(), "1.2.3")
	require.NoError(t, err)
	h := newFixture(t, func(o *serve.Options) { o.Tracer = provider })
	h.do(t, "POST", "/v1/evaluate?reward=length", "["+conversation("a", "", "x")+"]")
	require.NoError(t, h.Drain(t.Context()))
	require.NoError(t, shutdown(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(names)
	require.Equal(t, []string{"POST /v1/evaluate", "evaluate", "load"}, names)
	require.Contains(t, services, "service.name=merit")
	require.Contains(t, services, "service.version=1.2.3")
}

// Promise: the span of a refused request has its status, and only a fault of the server is an error.
func TestSpanOfARefusal(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	h := newFixture(t, func(o *serve.Options) { o.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans)) })
	resp, _ := h.do(t, "POST", "/v1/evaluate?reward=nowhere", "[]")
	require.Equal(t, 422, resp.StatusCode)
	require.Eventually(t, func() bool { return len(spans.GetSpans()) > 0 }, waitABit, poll)
	said := spans.GetSpans()
	require.Contains(t, said[len(said)-1].Attributes, attribute.Int("http.response.status_code", 422))
	require.Equal(t, codes.Unset, said[len(said)-1].Status.Code)
}
