package rowio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/table"
)

// problems collects the problems of a file, by line.
type problems struct {
	list []problem
	talk bool // some line is a whole conversation, which is said once
}

type problem struct {
	line int
	text string
}

// shown is the maximum number of problems in a message; the rest are counted.
const shown = 20

func (p *problems) add(line int, format string, args ...any) {
	p.list = append(p.list, problem{line, fmt.Sprintf(format, args...)})
}

// err returns one error that lists the problems of the file in the order of lines, or
// nil.
func (p *problems) err(file string) error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b problem) int { return a.line - b.line })
	var b strings.Builder
	for i, x := range p.list {
		if i == shown {
			fmt.Fprintf(&b, "\n  and %d more", len(p.list)-shown)
			break
		}
		b.WriteString("\n  " + x.text)
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: file,
		What: table.Count(len(p.list), "problem") + ":" + b.String(),
		Hint: "correct these lines; each row needs group, trajectory, step, observation, reward and episode_score, and every number must be finite",
	}
}
