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
	// Open prepares an instance on which no code has run.
	Open(i *engine.Instance, c *result.Collector, l limits.Limits) Session
}

// Detached is a profile whose input can be encoded without an instance, as on
// the host's side of a worker process.
type Detached interface {
	Profile
	Encoder(l limits.Limits) Encoder
}

// Encoder encodes the input of a module for members; its result is valid until
// the next call. It is not safe for concurrent use.
type Encoder func(members []*rl.Trajectory) ([]byte, error)

// Nested is the calling convention of programs that rewards open.
type Nested interface {
	// Open prepares an instance on which no code has run.
	Open(i *engine.Instance, c *result.Collector, l limits.Limits) Exchange
}

// Exchange exchanges messages with one program.
type Exchange interface {
	Guest
	// Answer passes a request, in UTF-8, to the program and returns a copy of
	// its answer, which is UTF-8 and within the limit of outputs. The error of
	// a Stop may be a verdict. Nothing else from the program may be trusted.
	Answer(request []byte) (answer []byte, stop *engine.Stop)
}

// Guest is what sessions and exchanges have in common.
type Guest interface {
	// Start runs what a module needs once, before the snapshot.
	Start() *engine.Stop
	// Memo returns what Start learned, for Resume in an instance that begins
	// from the state after another instance's Start.
	Memo() []byte
	Resume(memo []byte) error
}

// Booter is a guest whose start has two parts.
type Booter interface {
	Guest
	// Boot runs the first part, in Process.Boot. Memo then returns what it learned, for
	// Resume in an instance that begins from the state after Boot. Start runs the rest.
	Boot() *engine.Stop
}

// Streams is what a guest prints and reads.
type Streams interface {
	engine.System
	// Capture keeps standard output out of the log from now on.
	Capture()
	// Captured returns the standard output since Capture.
	Captured() []byte
	// Feed sets the standard input.
	Feed(p []byte)
}

// Player plays an environment in one instance. What the guest says is not trusted: the
// caller checks every answer and every turn.
type Player interface {
	Guest
	// Ask calls block.Describe, Configure or Render with an input. said is valid until
	// the guest runs again; failed says that it describes problems.
	Ask(call string, input []byte) (said []byte, failed bool, stop *engine.Stop)
	// Draws reports whether the guest has block.Render, once it is configured.
	Draws() bool
	// Reset and Step return where the guest's block.Turn is. want has the bits of
	// env.Want. The text is the action of an environment without a list of actions.
	Reset(seed uint64, want uint32) (at uint32, stop *engine.Stop)
	Step(action int32, text string, want uint32) (at uint32, stop *engine.Stop)
}

// Session calls one instance of a reward.
type Session interface {
	Guest
	// Input encodes the members; its result is valid until the next call.
	Input(members []*rl.Trajectory) ([]byte, error)
	// Evaluate passes input to the guest. The guest's results go to the
	// collector; the verdict is nil if every member then has a result.
	Evaluate(input []byte) (*result.Verdict, *engine.Stop)
	// Lasting reports whether an instance can serve further evaluations, so
	// that warming it up makes sense.
	Lasting() bool
}

// Restored is a session that is informed when its instance has been restored to
// the state in which every evaluation begins.
type Restored interface {
	Restored()
}

// Describer is a session whose module can describe itself only once it runs: a
// script.
type Describer interface {
	Describe() Description
}

// Description is a script's description of itself.
type Description struct {
	About       map[string]string // its manifest
	Group       bool              // it compares the members of a group
	GroundTruth reward.Use        // according to its signature
	Entry       *reward.Entry     // the function that scores
	Refused     []reward.Refusal  // what it was refused while it was loaded
}

// Problem is a reason why a module is not a reward.
type Problem struct {
	What   string
	Export string // the export that is missing or wrong, or empty
}

// Detect finds the profile of a module from its exports, and every reason why
// it cannot be called. The profile is nil if there is no sign of one.
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

// Named returns the profile with a name that was detected elsewhere, or nil.
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
