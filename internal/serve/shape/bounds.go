package shape

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// within reports whether n does not exceed most, and notes a problem if it does. A most of 0
// means unlimited.
func (d *decoder) within(where string, n, most int, things string) bool {
	if most > 0 && n > most {
		d.note(fault.Exhausted, where, fmt.Sprintf("%d %s exceed the limit of %d", n, things, most), "send less in a request")
		return false
	}
	return true
}

// size returns the bytes of t that a reward can see, without field names.
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

// index returns the path of element i of the list at where.
func index(where string, i int) string { return fmt.Sprintf("%s[%d]", where, i) }
