package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// refusal is an error with a known HTTP status.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

// refuse returns an error that is answered with status.
func refuse(status int, where, what, hint string) error {
	kind := fault.Invalid
	if status == http.StatusServiceUnavailable {
		kind = fault.Exhausted
	}
	return &refusal{status, &fault.Error{Boundary: fault.Server, Kind: kind, Where: where, What: what, Hint: hint}}
}

// statusOf returns the HTTP status that fits err.
func statusOf(err error) int {
	var known *refusal
	var busy *tenant.Busy
	f := fault.As(err)
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.As(err, &busy):
		return http.StatusTooManyRequests
	case f == nil:
		return http.StatusInternalServerError
	case f.Retry:
		return http.StatusServiceUnavailable
	}
	switch f.Kind {
	case fault.Missing:
		return http.StatusNotFound
	case fault.Invalid, fault.Unaligned, fault.Numeric, fault.Unscored:
		return http.StatusUnprocessableEntity
	case fault.Refused:
		if f.Boundary == fault.Server {
			return http.StatusForbidden
		}
		return http.StatusUnprocessableEntity
	case fault.Protocol:
		if f.Boundary == fault.Data {
			return http.StatusBadRequest
		}
	case fault.Corrupt:
		return http.StatusConflict
	case fault.Exhausted:
		return http.StatusRequestEntityTooLarge
	case fault.Crashed, fault.Timeout, fault.Interrupted:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// problemOf describes err for a client.
func problemOf(err error) *httpd.Problem {
	status, list := statusOf(err), leaves(nil, err)
	if status == http.StatusInternalServerError && fault.As(err) == nil {
		list = []httpd.Wrong{{What: "the server failed", Hint: "retry; the operator finds the reason in the server's log"}}
	}
	return httpd.NewProblem(status, list)
}

// leaves appends the single errors in err's tree, in order.
func leaves(list []httpd.Wrong, err error) []httpd.Wrong {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			list = leaves(list, e)
		}
		return list
	}
	f, ok := err.(*fault.Error)
	if !ok {
		if inner := errors.Unwrap(err); inner != nil && fault.As(inner) != nil {
			return leaves(list, inner)
		}
		return append(list, httpd.Wrong{What: err.Error()})
	}
	return append(list, httpd.WrongOf(f))
}

// fail responds with a problem document.
func fail(w http.ResponseWriter, err error) {
	p := problemOf(err)
	var busy *tenant.Busy
	switch {
	case errors.As(err, &busy):
		w.Header().Set("Retry-After", strconv.Itoa(int(busy.RetryAfter.Seconds())))
	case p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case p.Status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="merit"`)
	}
	text, _ := json.Marshal(p) // contains only strings and a number
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n'))
}
