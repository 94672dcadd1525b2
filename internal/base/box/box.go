// Package box says what a box is: a computer with files, a shell and programs, on which
// an agent works. The sandbox makes boxes without a container, which are called machines, and
// Docker or Podman make boxes that are containers. What runs on them does not see the
// difference.
package box

import (
	"context"
	"io/fs"
	"time"
)

// Maker makes boxes. It is safe for concurrent use.
type Maker interface {
	// New returns a box with nothing but its operating system.
	New(ctx context.Context) (Box, error)
	// Close frees what the boxes share; they must be closed first.
	Close()
}

// Box is one computer between two commands. It is not safe for concurrent use.
type Box interface {
	// Run runs a command to its end.
	Run(ctx context.Context, c Command) Result
	// Write writes files and makes the folders that they need. Folders and files that
	// exist are replaced; a folder keeps what is in it.
	Write(files ...File) error
	// Files returns a file, or everything in a folder, in the order of the paths. It
	// returns nothing if the path does not exist. Data must not be changed.
	Files(path string) ([]File, error)
	// Remove removes a file or a link, or a folder and everything in it, if it exists.
	Remove(path string) error
	// Fork returns a box in the same state. A change of one does not show in the other.
	Fork(ctx context.Context) (Box, error)
	// Close frees the box.
	Close() error
}

// Restorer is a box that knows in what it differs from another one: a machine is, a container is
// not.
type Restorer interface {
	Box
	// Changes lists the paths at which the box differs from another one, in order: in what
	// they are, permissions and content. Times do not count.
	Changes(from Box) []Change
	// Restore makes what is at each path what it is in another box, and removes it if there
	// is nothing. What is in a folder that both have stays.
	Restore(from Box, paths ...string) error
}

// Change is a path at which two boxes differ.
type Change struct {
	Path    string
	Was, Is bool // whether there is something in the other box, and in this one
}

// File is a file, folder or link of a box.
type File struct {
	Path string // absolute
	Mode fs.FileMode
	Data []byte // of a link, its target
}

// Command is what a box should run, as execve has it. The first of Args is found in the PATH
// of Env.
type Command struct {
	Args []string
	Env  []string // NAME=value, and nothing else
	Dir  string   // absolute
	User string   // name or number; empty for root. A machine has no other user
	// Timeout stops the command in a container; 0 never does. Fuel stops it on a machine, in
	// the units of the sandbox, about one per instruction: where it is stopped is a function
	// of the command. 0 is the machine's limit.
	Timeout time.Duration
	Fuel    uint64
}

// Result is how a command ended, and what it wrote until then.
type Result struct {
	Status int // the exit status
	Output []byte
	Errors []byte // standard error
	Fuel   uint64 // 0 in a container
	Err    error  // why the command did not end by itself: of a machine, a *Stopped
}

// Outcome is what stopped a command. It is an error, so that errors.Is finds it.
type Outcome string

// The outcomes. All but Infrastructure, TimedOut and Cancelled are a function of the machine
// and the command.
const (
	OutOfFuel      Outcome = "out_of_fuel"
	TooMuchOutput  Outcome = "too_much_output"
	Deadlock       Outcome = "deadlock" // every program waited for another one
	TooNested      Outcome = "too_nested"
	Crashed        Outcome = "crashed" // the shell itself, which is a bug, or has no more memory
	TimedOut       Outcome = "timed_out"
	Cancelled      Outcome = "cancelled"
	Infrastructure Outcome = "infrastructure"
)

// Error implements error.
func (o Outcome) Error() string { return string(o) }

// Stopped is why a command on a machine did not end by itself.
type Stopped struct {
	Outcome Outcome
	Reason  string // for people
}

// Error implements error.
func (s *Stopped) Error() string { return s.Reason }

// Unwrap returns the outcome.
func (s *Stopped) Unwrap() error { return s.Outcome }
