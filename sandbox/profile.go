package sandbox

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/fuel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// profile is how one kind of module is spoken to. It holds what is the same
// for all instances of a module; a session holds what belongs to one.
type profile interface {
	// name identifies the calling convention in reward.Info.
	name() string
	// group reports whether the module compares the members of a group.
	group() bool
	// open readies an instance on which no code has run.
	open(i *engine.Instance, c *collector, limits Limits) session
}

// detached is a profile whose input can be written without an instance: on
// this side of the pipe with isolation: process.
type detached interface {
	profile
	encoder(limits Limits) encoder
}

// encoder writes the input of a module for some members; what it returns is
// valid until the next call. It is not safe for concurrent use.
type encoder func(members []*rl.Trajectory) ([]byte, error)

// session speaks with one instance.
type session interface {
	// start runs what a module needs once, before the snapshot.
	start() *engine.Stop
	// memo is what start has learned, for resume: a session of an instance that
	// begins where another one had come to.
	memo() []byte
	resume(memo []byte) error
	// input encodes the members; what it returns is valid until the next call.
	input(members []*rl.Trajectory) ([]byte, error)
	// evaluate hands input to the guest. What the guest says goes to the
	// collector; the verdict is nil if every member has a result there.
	evaluate(input []byte) (*verdict, *engine.Stop)
	// lasting reports whether evaluations leave the instance able to serve the
	// next, so that warming it up makes sense.
	lasting() bool
}

const exportHint = `Go: import sdk/reward and build with -buildmode=c-shared; Rust: #[no_mangle] pub extern "C" fn and crate-type cdylib; ` +
	`C and C++: __attribute__((export_name("…"))) and a reactor build; AssemblyScript: export function; "merit reward new" makes a project that does it`

// detect finds the profile of a module from its exports, or every reason why
// there is none.
func detect(info *fuel.Info) (profile, []string) {
	var marks []string
	for _, e := range info.Exports {
		if strings.HasPrefix(e.Name, "merit_abi_") {
			marks = append(marks, e.Name)
		}
	}
	_, isCommand := info.Export("_start")
	switch {
	case len(marks) == 1 && marks[0] == flatMark:
		return newFlat(info)
	case len(marks) > 1:
		return nil, []string{"it exports several marks of an ABI: " + strings.Join(marks, ", ")}
	case len(marks) == 1:
		return nil, []string{fmt.Sprintf("it exports %s; this version of Merit supports %s", marks[0], flatMark)}
	case isCommand && len(meritExports(info)) == 0:
		return command{}, nil
	}
	return nil, []string{fmt.Sprintf("it exports neither %s (a reward module) nor _start (a WASI command)", flatMark)}
}

func meritExports(info *fuel.Info) (names []string) {
	for _, e := range info.Exports {
		if strings.HasPrefix(e.Name, "merit_") {
			names = append(names, e.Name)
		}
	}
	return names
}
