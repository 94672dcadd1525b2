// Package wasi implements WASI preview 1 without any authority: the process
// environment of a module, and the functions that read it. It depends neither
// on the runtime nor on rewards.
package wasi

// World is the process environment of one instance.
type World struct {
	Guest
	Process *Process
	State   State
	// Table, if set, is what a process of a machine has open. Its disk then takes the place
	// of the files of Process and of State.
	Table  *Table
	Answer []byte // the part of the channel's answer that was not read yet
	// Refused is what the guest requested and did not get since Refused was
	// last emptied.
	Refused []Refusal
}

// Guest is an instance as the functions use it.
type Guest interface {
	// Bytes returns a view of the memory, valid until the guest runs again.
	Bytes(ptr, size uint32) ([]byte, bool)
	// Charge takes fuel; it does not return if there is none left.
	Charge(n uint64)
	// Abort stops the call with an error, Exit with a status; neither returns.
	Abort(err error)
	Exit(status uint32)
	// Streams receives and provides the standard streams. If it is nil, output
	// is dropped and input is empty.
	Streams() Streams
	// Channel answers the messages of the channel, or is nil.
	Channel() Channel
}

// Streams receives what the guest writes and provides what it reads.
type Streams interface {
	// Output receives what the guest wrote to standard output (1) or error (2).
	// An error stops the call.
	Output(fd int, p []byte) error
	// Input fills p from standard input; 0 means the end.
	Input(p []byte) int
}

// Channel receives messages from a guest and answers each at once.
type Channel interface {
	// Limit is the maximum length of a message, in bytes.
	Limit() int
	// Exchange receives a message, of which at most one byte more than Limit is
	// passed on, and returns the answer. It may stop the guest's call.
	Exchange(message []byte) (answer []byte)
}

// State is what changes while the guest runs. Every restore of a snapshot
// resets it, so clocks and random numbers are functions of what the guest does.
type State struct {
	Elapsed uint64   // on the clock, in ns
	Random  uint64   // the state of the generator
	open    []handle // from firstHandle on
}

// NewState returns the state of an instance that has not run.
func NewState() State { return State{Random: randomSeed} }

// Clone returns a copy that shares nothing.
func (s *State) Clone() State {
	c := *s
	c.open = append(s.open[:0:0], s.open...)
	return c
}

// trim forgets the last descriptors if they are closed, so that states with the same open files
// are equal.
func (s *State) trim() {
	for n := len(s.open); n > 0 && s.open[n-1].node == nil; n-- {
		s.open = s.open[:n-1]
	}
}

// HasOpen reports whether files are open.
func (s *State) HasOpen() bool {
	for _, h := range s.open {
		if h.node != nil {
			return true
		}
	}
	return false
}

// next is SplitMix64.
func (s *State) next() uint64 {
	s.Random += 0x9e3779b97f4a7c15
	z := s.Random
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
