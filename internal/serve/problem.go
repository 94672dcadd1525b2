package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// problem is RFC 9457's application/problem+json.
type problem struct {
	Type     string  `json:"type"` // about:blank: the status says it all
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail"`
	Problems []wrong `json:"problems"`
}

// wrong is one thing that is wrong.
type wrong struct {
	Where string `json:"where,omitempty"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// refusal is an error whose status is known where it arises.
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

// statusOf is the status that says best what err is.
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

// mostShown is how many problems an answer lists.
const mostShown = 100

// problemOf says what err means to a client.
func problemOf(err error) *problem {
	p := &problem{Type: "about:blank", Status: statusOf(err)}
	p.Title = http.StatusText(p.Status)
	list := leaves(nil, err)
	if p.Status == http.StatusInternalServerError && fault.As(err) == nil {
		list = []wrong{{What: "the server failed", Hint: "ask again; the operator finds the reason in the log"}}
	}
	p.Detail = strings.TrimPrefix(list[0].Where+": "+list[0].What, ": ")
	if n := len(list); n > 1 {
		p.Detail = fmt.Sprintf("%d problems; the first: %s", n, p.Detail)
	}
	p.Problems = list[:min(len(list), mostShown)]
	return p
}

// leaves appends what is wrong, in the order of err's tree.
func leaves(list []wrong, err error) []wrong {
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
		return append(list, wrong{What: err.Error()})
	}
	bare := *f
	bare.Where = ""
	return append(list, wrong{f.Where, bare.Error(), f.Hint})
}

// fail answers with a problem.
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
	text, _ := json.Marshal(p) // strings and a number
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n'))
}
