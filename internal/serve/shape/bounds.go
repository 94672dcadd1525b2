package shape

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// within holds a number of things to most, if there is a bound.
func (d *decoder) within(where string, n, most int, things string) bool {
	if most > 0 && n > most {
		d.note(fault.Exhausted, where, fmt.Sprintf("%d %s are too many: at most %d are allowed", n, things, most), "send less in one request")
		return false
	}
	return true
}

// size is how many bytes of t a reward may see, names of fields aside.
func size(t *rl.Trajectory) int {
	n := len(t.GroundTruth)
	for _, m := range t.Messages {
		n += len(m.Role) + max(len(m.Content.Text()), len(m.Content.Parts())) + len(m.Name) + len(m.ToolCallID)
		for _, c := range m.ToolCalls {
			n += len(c.ID) + len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	for name, value := range t.Metadata {
		n += len(name) + len(value)
	}
	return n
}

// index is the path of element i of the list at where.
func index(where string, i int) string { return fmt.Sprintf("%s[%d]", where, i) }
