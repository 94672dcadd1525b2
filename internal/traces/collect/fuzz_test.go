package collect_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// sound holds what was read to what stores expect: fit to be kept, and the same
// after JSON.
func sound(t *testing.T, spans []trace.Span, about []trace.About) {
	t.Helper()
	for i := range spans {
		require.NoError(t, spans[i].Check())
		text, err := json.Marshal(&spans[i])
		require.NoError(t, err)
		var again trace.Span
		require.NoError(t, json.Unmarshal(text, &again))
		require.NoError(t, again.Check())
	}
	for i := range about {
		require.NoError(t, about[i].Check())
		_, err := json.Marshal(&about[i])
		require.NoError(t, err)
	}
}

// Promise: no bytes of a stranger become a span that cannot be kept, or end the
// process.
func FuzzOTLP(f *testing.F) {
	for _, name := range []string{"openai-agents", "openllmetry", "openai-v2"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var request service.ExportTraceServiceRequest
		if proto.Unmarshal(body, &request) != nil {
			return
		}
		b := collect.Read(&request)
		sound(t, b.Spans, b.About)
	})
}

// Promise: as FuzzOTLP, for its JSON.
func FuzzOTLPJSON(f *testing.F) {
	f.Add(otlpJSON(f, recorded(f, "openllmetry")))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01","spanId":"02","startTimeUnixNano":"5","endTimeUnixNano":6,
		"attributes":[{"key":"openinference.span.kind","value":{"stringValue":"LLM"}},{"key":"input.value","value":{"doubleValue":"NaN"}},
		{"key":"llm.input_messages.9.message.content","value":{"kvlistValue":{"values":[{"key":"a","value":{"bytesValue":"AA=="}}]}}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var request service.ExportTraceServiceRequest
		if collect.UnmarshalOTLP(body, &request) != nil {
			return
		}
		b := collect.Read(&request)
		sound(t, b.Spans, b.About)
	})
}

// Promise: as FuzzOTLP, for the plain form.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"spans":[{"trace":"t","id":"1","kind":"prompt","name":"m","start":"2026-11-22T10:00:00Z","end":"2026-11-22T10:00:01Z","status":"ok",
		"prompt":{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"answer":{"role":"assistant","content":null},"tokens":[{"id":1,"log_prob":-0.5}]},
		"attributes":{"a":{"b":[1,null]}}}],"traces":[{"trace":"t","metadata":{"ground_truth":{"n":4}}}]}`))
	f.Add([]byte(`{"spans":[{"trace":"t","id":"1","kind":"reward","name":"r","start":"2026-11-22T10:00:00Z","end":"2026-11-22T10:00:01Z","status":"ok","reward":{"outcome":"scored","score":1}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		spans, about, err := collect.Decode(body)
		if err != nil {
			require.Empty(t, spans)
			return
		}
		sound(t, spans, about)
	})
}
