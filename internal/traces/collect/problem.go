package collect

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// problem is RFC 9457's application/problem+json, in the form of Merit's other
// servers.
func problem(code int, list []error) []byte {
	var problems []httpd.Wrong
	for _, err := range list {
		wrong := httpd.Wrong{What: "the spans could not be kept", Hint: "send them again; who runs the collector finds the reason in its log"}
		if f := fault.As(err); f != nil {
			wrong = httpd.WrongOf(f)
		}
		problems = append(problems, wrong)
	}
	return append(mustMarshal(httpd.NewProblem(code, problems)), '\n')
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
