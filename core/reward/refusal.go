package reward

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Refusal is something that a reward requested and the sandbox does not provide,
// with a count and the first place in the author's code that requested it. A
// refusal during an evaluation makes the evaluation fail, even if it returns a
// score. A refusal while the reward is loaded is a warning.
type Refusal struct {
	// Kind is one of RefusalKinds.
	Kind string `json:"kind"`
	// What was requested, such as "numpy" or "socket.socket".
	What string `json:"what"`
	// Where is FILE:LINE in the reward, or empty if that is not known.
	Where string `json:"where,omitempty"`
	// Count is how often it was requested.
	Count int `json:"count"`
}

// RefusalKinds are the kinds of refusals, as a manifest names them in "without".
var RefusalKinds = []string{"network", "process", "package", "native", "file", "environment", "thread"}

// maxRefusals is how many different refusals are reported.
const maxRefusals = 16

// Told makes the refusals that a guest reports safe to store and to show; escape
// does this for one text.
func Told(said []Refusal, escape func(string) string) []Refusal {
	said = said[:min(len(said), maxRefusals)]
	for i := range said {
		r := &said[i]
		r.Kind, r.What, r.Where = escape(r.Kind), escape(r.What), escape(r.Where)
	}
	return said
}

// Attempt describes what a compiled reward tried to do.
func (r Refusal) Attempt() string {
	switch r.Kind {
	case "network":
		return "tried to use the network: " + r.What
	case "process":
		return "tried to start another process: " + r.What
	}
	return "tried to use a file that is not part of it: " + r.What
}

// String describes what was refused and where.
func (r Refusal) String() string {
	s := r.What
	switch {
	case r.Kind == "package":
		s = "the package " + s
	case r.Kind != "":
		s += " (" + r.Kind + ")"
	}
	if r.Where != "" {
		s += " at " + r.Where
	}
	return s
}

// LoadedWithout lists what the reward was refused while it was loaded; it may be
// empty.
func (i Info) LoadedWithout() string {
	texts := make([]string, len(i.Refused))
	for k, r := range i.Refused {
		texts[k] = r.String()
	}
	return strings.Join(texts, ", ")
}

// Missed is the warning that the reward was refused something while it was
// loaded, or nil.
func (i Info) Missed() error {
	if len(i.Refused) == 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Refused, Where: i.Name,
		What: "the reward was loaded without " + i.LoadedWithout() + ", which the sandbox does not provide",
		Hint: fmt.Sprintf(i.doWithout(), i.Refused[0].Kind),
	}
}

// doWithout returns the hint for the reward's language.
func (i Info) doWithout() string {
	switch i.ABI {
	case "python":
		return "put a pure-Python package next to the reward; if the reward works without it, declare that in the reward: __merit__ = {\"without\": [%q]}"
	case "js":
		return "put the imported module next to the reward; if the reward works without it, declare that in the reward: export const merit = { without: [%q] }"
	}
	return "if the reward works without it, add \"without\": [%q] to manifest.json next to its source and build it again"
}
