package archive

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Bad collects invalid records: it counts all and keeps the first few.
type Bad struct {
	Count int      `json:"count"`
	First []string `json:"first"` // place: problem
	Notes []string `json:"-"`     // what valid records say and trajectories cannot hold
}

// Add records a problem at a place.
func (b *Bad) Add(where string, err error) {
	const most = 20
	if b.Count++; len(b.First) >= most {
		return
	}
	problem := err.Error()
	if f := fault.As(err); f != nil && f.Where == where {
		problem = strings.TrimPrefix(problem, where+": ")
	}
	b.First = append(b.First, where+": "+problem)
}

// List returns one line for each of the first problems, and how many more there are.
func (b *Bad) List() string {
	list := strings.Join(b.First, "\n  ")
	if more := b.Count - len(b.First); more > 0 {
		list += fmt.Sprintf("\n  and %d more", more)
	}
	return list
}

// Err returns an error if there were problems, and nil otherwise.
func (b *Bad) Err(path string) error {
	if b.Count == 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: path,
		What: fmt.Sprintf("invalid records (%d):\n  %s", b.Count, b.List()), Hint: "correct these records; docs/spans.md describes the format of spans",
	}
}
