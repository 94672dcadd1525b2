// Package box says what a box is: a computer with files, a shell and programs, on which
// an agent works. The sandbox makes boxes without a container, and Docker or Podman make
// boxes that are containers; what runs on them does not see the difference.
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
	// exist are replaced.
	Write(files ...File) error
	// Files returns a file, or everything in a folder, in the order of the paths. It
	// returns nothing if the path does not exist.
	Files(path string) ([]File, error)
	// Remove removes a file, or a folder and everything in it.
	Remove(path string) error
	// Fork returns a box in the same state. A change of one does not show in the other.
	Fork(ctx context.Context) (Box, error)
	// Close frees the box.
	Close() error
}

// File is a file, folder or link of a box.
type File struct {
	Path string // absolute
	Mode fs.FileMode
	Data []byte // of a link, its target
}

// Command is what a box should run.
type Command struct {
	Args []string
	Env  []string // NAME=value, and nothing else
	Dir  string   // absolute
	User string   // name or number; empty for root
	// Timeout stops the command in a container; 0 never does. Machines count fuel instead.
	Timeout time.Duration
}

// Result is how a command ended.
type Result struct {
	Status int // the exit status
	Output []byte
	Errors []byte // standard error
	Fuel   uint64 // 0 in a container
	Err    error  // why the command did not end by itself
}
