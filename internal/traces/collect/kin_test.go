package collect_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// last is what a store has after what a sink was given: the last of each span.
func last(t *testing.T, sink *kept) string {
	t.Helper()
	byID := map[string]trace.Span{}
	for _, s := range sink.spans {
		byID[s.Trace+"/"+s.ID] = s
	}
	text, err := json.Marshal(byID)
	require.NoError(t, err)
	return string(text)
}

// Promise: whichever spans come in one request and in whichever order, what is
// kept is the same, and each span has the agent whose work it is part of.
func TestAnyOrderOfArrival(t *testing.T) {
	var whole service.ExportTraceServiceRequest
	require.NoError(t, proto.Unmarshal(recorded(t, "smolagents"), &whole))
	spans := whole.ResourceSpans[0].ScopeSpans[0].Spans
	send := func(c *collect.Collector, some []*otlp.Span) {
		part := proto.Clone(&whole).(*service.ExportTraceServiceRequest)
		part.ResourceSpans[0].ScopeSpans[0].Spans = some
		body, err := proto.Marshal(part)
		require.NoError(t, err)
		resp, text := post(t, c, "/v1/traces", "application/x-protobuf", body)
		require.Equal(t, 200, resp.StatusCode, string(text))
	}
	atOnce := &kept{}
	send(collect.New(collect.Options{Sink: atOnce}), spans)
	for _, s := range atOnce.spans {
		require.Equal(t, "clerk", s.Agent, s.Name)
	}
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		mixed := append([]*otlp.Span(nil), spans...)
		random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		pieces := &kept{}
		c := collect.New(collect.Options{Sink: pieces})
		for len(mixed) > 0 {
			n := 1 + random.IntN(len(mixed))
			send(c, mixed[:n])
			mixed = mixed[n:]
		}
		require.Equal(t, last(t, atOnce), last(t, pieces))
		require.EqualValues(t, len(atOnce.spans), c.Counts().Spans, "a span that came once counts once")
	}
}

// Promise: spans that stand above each other in a circle, or above themselves,
// end nothing.
func TestCircles(t *testing.T) {
	var whole service.ExportTraceServiceRequest
	require.NoError(t, proto.Unmarshal(recorded(t, "smolagents"), &whole))
	spans := whole.ResourceSpans[0].ScopeSpans[0].Spans
	spans[0].ParentSpanId = spans[1].SpanId
	spans[1].ParentSpanId = spans[0].SpanId
	spans[2].ParentSpanId = spans[2].SpanId
	body, err := proto.Marshal(&whole)
	require.NoError(t, err)
	sink := &kept{}
	resp, _ := post(t, collect.New(collect.Options{Sink: sink}), "/v1/traces", "application/x-protobuf", body)
	require.Equal(t, 200, resp.StatusCode)
	require.Len(t, sink.spans, len(spans))
}
