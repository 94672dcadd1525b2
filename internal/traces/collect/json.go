package collect

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// MaxSpans is how many spans one request of the plain form may have.
const MaxSpans = 10_000

// Decode reads the plain form:
//
//	{"spans": [trace.Span, …], "traces": [trace.About, …]}
//
// All or nothing: the error joins everything that is wrong, each with its place.
func Decode(body []byte) (spans []trace.Span, about []trace.About, err error) {
	if !utf8.Valid(body) {
		return nil, nil, bad("body", "is not UTF-8", nil)
	}
	var request struct {
		Spans  []json.RawMessage `json:"spans"`
		Traces []json.RawMessage `json:"traces"`
	}
	if err := strictjson.UnmarshalKnown(body, &request); err != nil {
		return nil, nil, bad("body", "is not of the form", err)
	}
	if n := len(request.Spans) + len(request.Traces); n > MaxSpans {
		return nil, nil, bad("body", fmt.Sprintf("%d spans and traces are more than %d", n, MaxSpans), nil)
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
		return bad(where, "is not of the form", err)
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
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: where, What: what, Err: err, Hint: "docs/spans.md has the form of spans and traces"}
}

// UnmarshalOTLP reads OTLP's JSON: protobuf's, but that ids are hexadecimal and
// what is unknown is passed over.
func UnmarshalOTLP(body []byte, request *service.ExportTraceServiceRequest) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var tree any
	err := strictjson.Check(body)
	if err == nil {
		err = d.Decode(&tree)
	}
	if err == nil {
		err = identify(tree)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(tree)
	}
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, request)
	}
	if err != nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "body", What: "is not OTLP's JSON", Err: err, Hint: "send an ExportTraceServiceRequest, or set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf"}
	}
	return nil
}

// ids are the keys of ids, as OTLP writes them and as protobuf may.
var ids = []string{"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"}

// identify writes hexadecimal ids as protobuf's JSON has bytes. No key of the
// tree is a stranger's: attributes are lists of pairs.
func identify(tree any) error {
	switch x := tree.(type) {
	case []any:
		for _, item := range x {
			if err := identify(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range x {
			text, ok := value.(string)
			if !ok || !slices.Contains(ids, key) {
				if err := identify(value); err != nil {
					return err
				}
				continue
			}
			id, err := hex.DecodeString(text)
			if err != nil {
				return fmt.Errorf("%s %.40q is not hexadecimal", key, text)
			}
			x[key] = base64.StdEncoding.EncodeToString(id)
		}
	}
	return nil
}
