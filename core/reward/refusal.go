package reward

import (
	"fmt"
	"strings"
)

// Refusal is something that a reward asked for and the sandbox does not give,
// counted with the first place in the author's code that asked. Where one
// happens during an evaluation that returns a score all the same, the
// evaluation has failed; where it happened while the reward was loaded, it is a
// warning.
type Refusal struct {
	// Kind is "network", "process", "package", "native", "file", "environment" or "thread".
	Kind string `json:"kind"`
	// What was asked for, such as "numpy" or "socket.socket".
	What string `json:"what"`
	// Where is FILE:LINE in the reward, or empty if that is not known.
	Where string `json:"where,omitempty"`
	// Count is how often it was asked for.
	Count int `json:"count"`
}

// MaxRefusals is how many different refusals are told.
const MaxRefusals = 16

// String says what was refused and where.
func (r Refusal) String() string {
	s := fmt.Sprintf("%s (%s)", r.What, r.Kind)
	if r.Kind == "package" {
		s = "the package " + r.What
	}
	if r.Where != "" {
		s += " at " + r.Where
	}
	return s
}

// Warning says what a reward was refused while it was loaded, in one line;
// empty if that is nothing.
func (i Info) Warning() string {
	if len(i.Refused) == 0 {
		return ""
	}
	texts := make([]string, len(i.Refused))
	for k, r := range i.Refused {
		texts[k] = r.String()
	}
	return fmt.Sprintf("the reward %s was loaded without %s: the sandbox does not have this", i.Name, strings.Join(texts, ", "))
}
