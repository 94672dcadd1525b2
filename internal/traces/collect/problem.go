package collect

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// problem returns an RFC 9457 application/problem+json document in the form of Merit's
// other servers.
func problem(code int, list []error) []byte {
	var problems []httpd.Wrong
	for _, err := range list {
		wrong := httpd.Wrong{What: "the spans could not be stored", Hint: "send them again; the log of the collector has the reason"}
		if f := fault.As(err); f != nil {
			wrong = httpd.WrongOf(f)
		}
		problems = append(problems, wrong)
	}
	return append(mustMarshal(httpd.NewProblem(code, problems)), '\n')
}

// said formats the problems as one line for the log.
func said(list []error) string {
	const most = 3
	var lines []string
	for _, err := range list[:min(len(list), most)] {
		if fault.As(err) == nil {
			lines = append(lines, "the spans could not be stored")
			continue
		}
		lines = append(lines, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if n := len(list); n > most {
		lines = append(lines, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(lines, "; ")
}
