package collect

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// MaxSpans is the maximum number of spans and traces in a request of Merit's own form.
const MaxSpans = 10_000

// Decode reads Merit's own form:
//
//	{"spans": [trace.Span, …], "traces": [trace.About, …]}
//
// It accepts all or nothing: the error joins all problems, each with its place.
func Decode(body []byte) (spans []trace.Span, about []trace.About, err error) {
	if !utf8.Valid(body) {
		return nil, nil, bad("body", "is not UTF-8", nil)
	}
	var request struct {
		Spans  []json.RawMessage `json:"spans"`
		Traces []json.RawMessage `json:"traces"`
	}
	if err := strictjson.UnmarshalKnown(body, &request); err != nil {
		return nil, nil, bad("body", "does not have the required form", err)
	}
	if n := len(request.Spans) + len(request.Traces); n > MaxSpans {
		return nil, nil, bad("body", fmt.Sprintf("has %d spans and traces; the maximum is %d", n, MaxSpans), nil)
	}
	var wrong []error
	spans = make([]trace.Span, len(request.Spans))
	for i, text := range request.Spans {
		wrong = append(wrong, item(fmt.Sprintf("spans[%d]", i), text, &spans[i], spans[i].Check))
	}
	about = make([]trace.About, len(request.Traces))
	for i, text := range request.Traces {
		wrong = append(wrong, item(fmt.Sprintf("traces[%d]", i), text, &about[i], about[i].Check))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, nil, err
	}
	return spans, about, nil
}

func item(where string, text json.RawMessage, into any, check func() error) error {
	if err := strictjson.UnmarshalKnown(text, into); err != nil {
		return bad(where, "does not have the required form", err)
	}
	err := check()
	if f := fault.As(err); f != nil {
		placed := *f
		placed.Where = where + ", " + f.Where
		return &placed
	}
	return err
}

func bad(where, what string, err error) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: where, What: what, Err: err, Hint: "docs/spans.md describes the form of spans and traces"}
}

// UnmarshalOTLP reads OTLP's JSON: that of protobuf, except that ids are hexadecimal
// and unknown fields are ignored.
func UnmarshalOTLP(body []byte, request *service.ExportTraceServiceRequest) error {
	err := strictjson.Check(body)
	if err == nil && surrogate.Match(body) {
		body, err = whole(body)
	}
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, request)
	}
	if err != nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "body", What: "is not OTLP's JSON", Err: err, Hint: "send an ExportTraceServiceRequest, or set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf"}
	}
	hexadecimal(request)
	return nil
}

// surrogate matches an escape that may be half a surrogate pair: JavaScript produces
// those when it cuts a text, and protobuf rejects them.
var surrogate = regexp.MustCompile(`(?i)\\ud`)

// whole replaces half surrogate pairs with U+FFFD.
func whole(text []byte) ([]byte, error) {
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// hexadecimal restores ids. Protobuf's JSON decodes bytes as base64, and OTLP's has
// hexadecimal digits there, which are also base64 digits: four of them are three
// bytes. It replaces an id that is not hexadecimal with an invalid one, so that Read
// refuses only its span.
func hexadecimal(request *service.ExportTraceServiceRequest) {
	for _, rs := range request.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				for _, id := range []*[]byte{&s.TraceId, &s.SpanId, &s.ParentSpanId} {
					decoded, err := hex.DecodeString(base64.StdEncoding.EncodeToString(*id))
					if err != nil {
						decoded = []byte{0}
					}
					*id = decoded
				}
			}
		}
	}
}
