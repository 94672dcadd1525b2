package collect

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	status "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/fault"
)

// Media types of OTLP.
const (
	typeProto = "application/x-protobuf"
	typeJSON  = "application/json"
)

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	err    *fault.Error
}

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, where, what, hint string) error {
	return &refusal{status, &fault.Error{Boundary: fault.Server, Kind: fault.Invalid, Where: where, What: what, Hint: hint}}
}

// body reads and decompresses the body of a request.
func (c *Collector) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	most := c.options.MaxBody
	var from io.Reader = http.MaxBytesReader(w, r.Body, most)
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "body", "is not gzip, although Content-Encoding says so", "compress the body, or remove Content-Encoding")
		}
		from = z
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Encoding", fmt.Sprintf("%.40q is not supported", coding), "send gzip, or an uncompressed body")
	}
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= most {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(from, most+1))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), err == nil && int64(b.Len()) > most:
		return nil, refuse(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("is longer than %d bytes", most), "send fewer spans per request: set OTEL_BSP_MAX_EXPORT_BATCH_SIZE of the exporter")
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "body", "is truncated", "send the whole body")
	}
	return b.Bytes(), nil
}

// media returns the type of a body, in lower case and without parameters.
func media(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func decodeOTLP(r *http.Request, body []byte, request *service.ExportTraceServiceRequest) error {
	switch media(r) {
	case typeProto:
		if err := proto.Unmarshal(body, request); err != nil {
			return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "body", What: "is not OTLP", Err: err, Hint: "send an ExportTraceServiceRequest"}
		}
		return nil
	case typeJSON:
		return UnmarshalOTLP(body, request)
	}
	return refuse(http.StatusUnsupportedMediaType, "Content-Type", fmt.Sprintf("%.40q is not a media type of OTLP", r.Header.Get("Content-Type")), "send "+typeProto+" or "+typeJSON)
}

// answerOTLP answers in the encoding of the request.
func answerOTLP(w http.ResponseWriter, r *http.Request, code int, m proto.Message) {
	kind, marshal := typeProto, proto.Marshal
	if media(r) == typeJSON {
		kind, marshal = typeJSON, protojson.Marshal
	}
	text, err := marshal(m)
	if err != nil {
		code, text = http.StatusInternalServerError, nil
	}
	answer(w, code, kind, text)
}

func answer(w http.ResponseWriter, code int, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(text) // the client may have disconnected
}

// elsewhere accepts and discards metrics and logs, which exporters send to the same
// address.
func (c *Collector) elsewhere(w http.ResponseWriter, r *http.Request) {
	if _, err := c.body(w, r); err != nil {
		fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, cmp.Or(media(r), typeProto), nil)
}

// fail answers with the error: on OTLP's paths as google.rpc.Status, as OTLP
// requires, on Merit's own path as an RFC 9457 problem.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	code := statusOf(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if r.URL.Path != "/v1/traces/spans" {
		answerOTLP(w, r, code, &status.Status{Code: int32(codeOf(code)), Message: said(fault.Leaves(err))})
		return
	}
	answer(w, code, "application/problem+json", problem(code, fault.Leaves(err)))
}

// statusOf returns 400 for an invalid request. For other errors it returns 503, at
// which exporters retry.
func statusOf(err error) int {
	var known *refusal
	if errors.As(err, &known) {
		return known.status
	}
	if f := fault.As(err); f != nil && f.Boundary == fault.Data && f.Kind == fault.Invalid {
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

func codeOf(http int) codes.Code {
	switch http {
	case 401:
		return codes.Unauthenticated
	case 403:
		return codes.PermissionDenied
	case 413, 429:
		return codes.ResourceExhausted
	case 503:
		return codes.Unavailable
	}
	return codes.InvalidArgument
}
