// Package profile implements the calling conventions of modules: the flat ABI of
// reactors and the JSON line of WASI commands. Its interfaces are also implemented by
// interpreters.
package profile

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/result"
)

// Profile is the calling convention of one kind of module. It holds what is the
// same for all instances of a module; a Session belongs to one instance.
type Profile interface {
	// Name identifies the calling convention in reward.Info.
	Name() string
	// Group reports whether the module compares the members of a group.
	Group() bool
	// Open readies an instance on which no code has run.
	Open(i *engine.Instance, c *result.Collector, l limits.Limits) Session
}

// Detached is a profile whose input can be written without an instance: on
// the host's side of a worker process.
type Detached interface {
	Profile
	Encoder(l limits.Limits) Encoder
}

// Encoder writes the input of a module for some members; what it returns is
// valid until the next call. It is not safe for concurrent use.
type Encoder func(members []*rl.Trajectory) ([]byte, error)

// Nested is how programs that rewards open beside themselves are spoken to.
type Nested interface {
	// Open readies an instance on which no code has run.
	Open(i *engine.Instance, c *result.Collector, l limits.Limits) Exchange
}

// Exchange speaks with one program.
type Exchange interface {
	Guest
	// Answer hands a request to the program, in UTF-8, and returns a copy of what
	// it answers, which is UTF-8 and within the limit of outputs. The error of a
	// Stop may be a verdict. Nothing else that the program says is to be believed.
	Answer(request []byte) (answer []byte, stop *engine.Stop)
}

// Guest is what comes before sessions and exchanges.
type Guest interface {
	// Start runs what a module needs once, before the snapshot.
	Start() *engine.Stop
	// Memo is what Start has learned, for Resume: a session of an instance that
	// begins where another one had come to.
	Memo() []byte
	Resume(memo []byte) error
}

// Session speaks with one instance of a reward.
type Session interface {
	Guest
	// Input encodes the members; what it returns is valid until the next call.
	Input(members []*rl.Trajectory) ([]byte, error)
	// Evaluate hands input to the guest. What the guest says goes to the
	// collector; the verdict is nil if every member has a result there.
	Evaluate(input []byte) (*result.Verdict, *engine.Stop)
	// Lasting reports whether evaluations leave the instance able to serve the
	// next, so that warming it up makes sense.
	Lasting() bool
}

// Restored is a session that is told when its state is that in which every
// evaluation to come begins, whatever those before it have written.
type Restored interface {
	Restored()
}

// Describer is a session whose module says what it is only once it runs: a
// script.
type Describer interface {
	Describe() Description
}

// Description is what a script says of itself.
type Description struct {
	About       map[string]string // its manifest
	Group       bool              // it compares the members of a group
	GroundTruth reward.Use        // as its signature says
	Entry       *reward.Entry     // the function that scores
	Refused     []reward.Refusal  // what it was refused while it was loaded
}

// Problem is a reason why a module is not a reward.
type Problem struct {
	What   string
	Export string // the export that is missing or wrong, or empty
}

// Detect finds the profile of a module from its exports, and every reason why
// it cannot be spoken to. The profile is nil if there is no sign of one.
func Detect(info *fuel.Info) (Profile, []Problem) {
	marks := exportsWith(info, "merit_abi_")
	_, isCommand := info.Export("_start")
	switch {
	case len(marks) == 1 && marks[0] == flatMark:
		return newFlat(info)
	case len(marks) > 1:
		return nil, []Problem{{What: "it exports several marks of an ABI: " + strings.Join(marks, ", ")}}
	case len(marks) == 1:
		return nil, []Problem{{What: fmt.Sprintf("it exports %s; this version of Merit supports %s", marks[0], flatMark)}}
	case isCommand && len(exportsWith(info, "merit_")) == 0:
		return command{}, nil
	}
	_, problems := newFlat(info)
	problems[0].What += " (a reward module), nor _start (a WASI command)"
	return nil, problems
}

// Powers lists what the exports of a module can score: a trajectory, a group.
func Powers(info *fuel.Info) []string {
	powers := []string{}
	for _, p := range []struct{ export, power string }{{flatEvaluate, "trajectory"}, {flatGroup, "group"}} {
		if _, ok := info.Export(p.export); ok {
			powers = append(powers, p.power)
		}
	}
	return powers
}

// Named finds the profile of a module that was detected elsewhere, or nil.
func Named(name string, group bool) Detached {
	entry := flatEvaluate
	if group {
		entry = flatGroup
	}
	for _, p := range []Detached{flat{entry: entry}, command{}} {
		if p.Name() == name && p.Group() == group {
			return p
		}
	}
	return nil
}

func exportsWith(info *fuel.Info, prefix string) (names []string) {
	for _, e := range info.Exports {
		if strings.HasPrefix(e.Name, prefix) {
			names = append(names, e.Name)
		}
	}
	return names
}
