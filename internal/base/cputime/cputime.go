// Package cputime measures the CPU time of this process, of the processes that it started,
// such as plug-ins and sandbox workers, and of those that work for it elsewhere.
package cputime

import "sync"

var elsewhere struct {
	sync.Mutex
	seconds float64
}

// Seconds returns the CPU seconds that this process and its descendants have used, and those
// of Add. A process that has ended counts if its parent waited for it.
func Seconds() float64 {
	elsewhere.Lock()
	defer elsewhere.Unlock()
	return own() + descendants() + elsewhere.seconds
}

// Add counts the CPU seconds of a process that works for this one and is not its descendant,
// such as a worker of a fleet. It may be called concurrently.
func Add(seconds float64) {
	elsewhere.Lock()
	defer elsewhere.Unlock()
	elsewhere.seconds += seconds
}
