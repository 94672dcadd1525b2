package collect

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// mostSaid is how many problems an answer lists.
const mostSaid = 100

// problem is RFC 9457's application/problem+json, in the form of Merit's other
// servers.
func problem(code int, list []error) []byte {
	type wrong struct {
		Where string `json:"where,omitempty"`
		What  string `json:"what"`
		Hint  string `json:"hint,omitempty"`
	}
	var problems []wrong
	for _, err := range list[:min(len(list), mostSaid)] {
		if f := fault.As(err); f != nil {
			bare := *f
			bare.Where = ""
			problems = append(problems, wrong{f.Where, bare.Error(), f.Hint})
			continue
		}
		problems = append(problems, wrong{What: "the spans could not be kept", Hint: "send them again; who runs the collector finds the reason in its log"})
	}
	detail := strings.TrimPrefix(problems[0].Where+": "+problems[0].What, ": ")
	if n := len(list); n > 1 {
		detail = fmt.Sprintf("%d problems; the first: %s", n, detail)
	}
	return append(mustMarshal(struct {
		Type     string  `json:"type"`
		Title    string  `json:"title"`
		Status   int     `json:"status"`
		Detail   string  `json:"detail"`
		Problems []wrong `json:"problems"`
	}{"about:blank", http.StatusText(code), code, detail, problems}), '\n')
}

// said is what is wrong in a line, for those who log it.
func said(list []error) string {
	const most = 3
	var lines []string
	for _, err := range list[:min(len(list), most)] {
		if fault.As(err) == nil {
			lines = append(lines, "the spans could not be kept")
			continue
		}
		lines = append(lines, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if n := len(list); n > most {
		lines = append(lines, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(lines, "; ")
}

// flat are the leaves of an error that joins others.
func flat(err error) (list []error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			list = append(list, flat(e)...)
		}
		return list
	}
	return []error{err}
}
