// Package fault is the one typed error set of Merit: at which boundary
// something failed, in which way, and what the user should do next; and the
// one collector of what is wrong with a configuration.
//
// Errors cross processes: the wire carries Boundary, Kind, messages and hint,
// and errors.Is works against the sentinels on either side.
package fault

import (
	"errors"
	"strings"
)

// Boundary is where Merit meets something untrusted or fallible.
type Boundary string

// The closed set of boundaries.
const (
	Config  Boundary = "config"  // files and flags that a user wrote
	Data    Boundary = "data"    // trajectories, rows, levels: files read as input
	Sandbox Boundary = "sandbox" // reward modules
	Plugin  Boundary = "plugin"  // environments and policies in other processes
	Learner Boundary = "learner" // losses, gradients, parameters
	Storage Boundary = "storage" // run directories, checkpoints, disks
	Model   Boundary = "model"   // language models and judges behind an API
	CLI     Boundary = "cli"     // the command line itself
	Server  Boundary = "server"  // requests to a reward server: authentication and limits

	Registry Boundary = "registry" // registries that keep rewards, and what they hold
	Fleet    Boundary = "fleet"    // workers of other machines, and the queue between
)

// Kind is the way in which something failed.
type Kind string

// The closed set of kinds.
const (
	Invalid     Kind = "invalid"     // the input is wrong and stays wrong
	Missing     Kind = "missing"     // something named does not exist
	Refused     Kind = "refused"     // a module or peer breaks a rule and is not run
	Unaligned   Kind = "unaligned"   // a step reward has no step, or has it twice
	Crashed     Kind = "crashed"     // a process died or a handler failed
	Timeout     Kind = "timeout"     // a deadline passed
	Protocol    Kind = "protocol"    // a peer speaks another version or breaks the contract
	Exhausted   Kind = "exhausted"   // a limit, quota or disk is used up
	Corrupt     Kind = "corrupt"     // stored bytes fail their check
	Numeric     Kind = "numeric"     // a number is not finite
	Interrupted Kind = "interrupted" // the user stopped it
	Unscored    Kind = "unscored"    // too many evaluations have no score
	Differs     Kind = "differs"     // two things that were compared are not equal
	Internal    Kind = "internal"    // a bug in Merit
)

// Error is what every boundary returns.
type Error struct {
	Boundary Boundary
	Kind     Kind
	Where    string // file:line, key path, trajectory and step, plug-in name
	What     string // one sentence
	Hint     string // what to do next
	Err      error  // cause, may be nil

	Allowed []string // the allowed words, if the value must be one of them
	Retry   bool     // a retry may succeed: the input is not wrong
}

// Error gives where, what and the cause on one line. The hint is not part of
// it: the CLI prints it on its own line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where)
		b.WriteString(": ")
	}
	b.WriteString(e.What)
	if e.Err != nil {
		if e.What != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the sentinels of Of: an *Error with only Boundary, Kind or both
// set matches every error that agrees with what is set.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.What != "" || t.Where != "" || t.Err != nil {
		return false
	}
	return (t.Boundary == "" || t.Boundary == e.Boundary) && (t.Kind == "" || t.Kind == e.Kind)
}

// Of returns a pattern for errors.Is. An empty boundary or kind matches any:
//
//	errors.Is(err, fault.Of(fault.Plugin, fault.Crashed))
func Of(b Boundary, k Kind) error { return &Error{Boundary: b, Kind: k} }

// As returns the outermost *Error in err's tree, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Retryable reports whether the outermost *Error in err's tree says that a retry
// may succeed.
func Retryable(err error) bool {
	e := As(err)
	return e != nil && e.Retry
}
