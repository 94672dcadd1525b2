package httpd

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Problem is RFC 9457's application/problem+json.
type Problem struct {
	Type     string  `json:"type"` // about:blank: the status says it all
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail"`
	Problems []Wrong `json:"problems"`
}

// Wrong is one thing that is wrong.
type Wrong struct {
	Where string `json:"where,omitempty"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// WrongOf is f as an answer lists it.
func WrongOf(f *fault.Error) Wrong {
	bare := *f
	bare.Where = ""
	return Wrong{f.Where, bare.Error(), f.Hint}
}

// mostShown is how many problems an answer lists.
const mostShown = 100

// NewProblem is the answer of a status about all that is wrong.
func NewProblem(status int, list []Wrong) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Problems: list[:min(len(list), mostShown)]}
	p.Detail = strings.TrimPrefix(list[0].Where+": "+list[0].What, ": ")
	if n := len(list); n > 1 {
		p.Detail = fmt.Sprintf("%d problems; the first: %s", n, p.Detail)
	}
	return p
}
