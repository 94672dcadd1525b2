// Package machine describes computers without a container: a file system in memory, on which
// commands run. sandbox.Config.OpenMachines makes them.
package machine

import (
	"context"
	"io/fs"
	"time"
)

// Limits bound a machine and each command on it. What is 0 has the default.
type Limits struct {
	// Fuel is what all programs of a command may use together, in the units of the sandbox:
	// about one per instruction.
	Fuel uint64
	// Memory is what each program may use, in bytes, at most 1 GiB.
	Memory uint64
	// Output limits standard output and standard error, each, in bytes.
	Output int
	// Bytes limits the disk, with its names and folders; Files is how many files, folders and
	// links it may have, and Depth how many folders may be nested.
	Bytes int64
	Files int
	Depth int
	// Nested is how many programs may wait for each other.
	Nested int
	// Wall is the last resort against a command that does not end; it is not deterministic.
	Wall time.Duration
}

// Command is what a machine should run, as execve has it. The first of Args is found in the
// PATH of Env. Dir is absolute.
type Command struct {
	Args  []string
	Env   []string // NAME=value
	Dir   string
	Input []byte
}

// Outcome is how a command ended.
type Outcome string

// The outcomes. All but Infrastructure and TimedOut are a function of the machine and the
// command.
const (
	Exited         Outcome = "exited" // by itself, with Result.Status
	OutOfFuel      Outcome = "out_of_fuel"
	TooMuchOutput  Outcome = "too_much_output"
	Deadlock       Outcome = "deadlock" // every program waited for another one
	TooNested      Outcome = "too_nested"
	Crashed        Outcome = "crashed" // the shell itself, which is a bug, or has no more memory
	TimedOut       Outcome = "timed_out"
	Cancelled      Outcome = "cancelled"
	Infrastructure Outcome = "infrastructure"
)

// Result is how a command ended and what it wrote until then.
type Result struct {
	Outcome Outcome
	Reason  string // for people; empty if the command exited
	Status  int    // the exit status, if it exited
	Output  []byte
	Errors  []byte // standard error
	Fuel    uint64
}

// Machine is one machine. It is not safe for concurrent use.
type Machine interface {
	// Run runs a command to its end. Programs that it leaves in the background end with it.
	Run(ctx context.Context, c Command) Result
	// Fork returns a machine in the same state. Both share what they do not change.
	Fork() Machine
	// Read returns the content of a file, which must not be changed. The error is a
	// *fs.PathError.
	Read(path string) ([]byte, error)
	// Write makes a file with all folders that it needs, or replaces its content and its
	// permissions. The error is a *fs.PathError.
	Write(path string, data []byte, mode fs.FileMode) error
	// List calls each with the regular files in a folder and in those below it, by name,
	// until it returns false. Paths are absolute.
	List(folder string, each func(path string, mode fs.FileMode, size int64) bool) error
}

// Machines makes machines. It is safe for concurrent use.
type Machines interface {
	// New returns a machine with the folders of Linux, the shell, the core utilities and
	// Python.
	New() Machine
	// Commands lists the commands that machines have, by name.
	Commands() []string
	// Packages lists the packages of Python that machines have, with their versions, by
	// their normal names.
	Packages() map[string]string
	// Close frees everything; no machine may be used any more.
	Close()
}
