package httpd

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Problem is an application/problem+json document (RFC 9457).
type Problem struct {
	Type     string  `json:"type"` // about:blank: the status is the type
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail"`
	Problems []Wrong `json:"problems"`
}

// Wrong is one problem.
type Wrong struct {
	Where string `json:"where,omitempty"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// WrongOf converts f for a problem document.
func WrongOf(f *fault.Error) Wrong {
	bare := *f
	bare.Where = ""
	return Wrong{f.Where, bare.Error(), f.Hint}
}

// mostShown is the largest number of problems in a document.
const mostShown = 100

// NewProblem returns the document for a status and its problems, of which there is at least
// one.
func NewProblem(status int, list []Wrong) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Problems: list[:min(len(list), mostShown)]}
	p.Detail = strings.TrimPrefix(list[0].Where+": "+list[0].What, ": ")
	if n := len(list); n > 1 {
		p.Detail = fmt.Sprintf("%d problems; the first: %s", n, p.Detail)
	}
	return p
}
