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

// refusal is an error whose status is known where it arises.
type refusal struct {
	status int
	err    *fault.Error
}

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, where, what, hint string) error {
	return &refusal{status, &fault.Error{Boundary: fault.Server, Kind: fault.Invalid, Where: where, What: what, Hint: hint}}
}

// body reads the body of a request, of which gzip may have made less.
func (c *Collector) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	most := c.options.MaxBody
	var from io.Reader = http.MaxBytesReader(w, r.Body, most)
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "body", "is not gzip, as Content-Encoding says", "send it as it is, or compress it")
		}
		from = z
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Encoding", fmt.Sprintf("%.40q is not read", coding), "send gzip, or the body as it is")
	}
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= most {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(io.LimitReader(from, most+1))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), err == nil && int64(b.Len()) > most:
		return nil, refuse(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("it has more than %d bytes", most), "send fewer spans at one time: OTEL_BSP_MAX_EXPORT_BATCH_SIZE of an exporter")
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "body", "it ends before its end", "send it whole")
	}
	return b.Bytes(), nil
}

// media is the type of a body, in small letters and without parameters.
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
	return refuse(http.StatusUnsupportedMediaType, "Content-Type", fmt.Sprintf("%.40q is not OTLP's", r.Header.Get("Content-Type")), "send "+typeProto+" or "+typeJSON)
}

// answerOTLP answers in the form of the request.
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
	_, _ = w.Write(text) // who asked has gone
}

// elsewhere takes metrics and logs, which exporters of all three send to one
// address, and keeps nothing of them.
func (c *Collector) elsewhere(w http.ResponseWriter, r *http.Request) {
	if _, err := c.body(w, r); err != nil {
		fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, cmp.Or(media(r), typeProto), nil)
}

// fail answers with what is wrong: OTLP's paths with google.rpc.Status, as OTLP
// wants it, the plain one with RFC 9457's problem.
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

// statusOf: what is wrong with the request stays wrong; anything else may
// succeed later, and exporters try again at 503.
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
