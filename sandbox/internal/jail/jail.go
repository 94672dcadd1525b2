// Package jail starts processes that can do almost nothing but compute, and
// watches over them: a copy of the running program, without environment,
// inherited files or privileges, with limits on memory, files and processor
// time, behind a filter of system calls where Linux has one. What the process
// says is not its business.
package jail

import "time"

// Limits bound a process behind the wall.
type Limits struct {
	MemoryBytes uint64        // memory that it can write to
	FileBytes   uint64        // size of a file in memory
	CPU         time.Duration // processor time over its whole life, in whole seconds
}

// Measures says what a wall is made of on this system.
type Measures struct {
	InForce []string `json:"in_force"`
	Missing []string `json:"missing,omitempty"`
}

// Death is how a process ended.
type Death struct {
	OutOfMemory bool   // its limit on memory
	Forbidden   bool   // a system call that the filter answers with death
	Text        string // for people: exit status or signal, and the start of what it printed
}
