// Package wasi is WASI preview 1 without any authority: what a module finds
// around it when it starts, and the functions by which it looks. It knows
// neither the runtime that calls nor what a reward is.
package wasi

// World is what one instance finds around it.
type World struct {
	Guest
	Process *Process
	State   State
	Answer  []byte // of the channel, as far as it was not read
	// Refused is what the guest asked for and did not get, since it was emptied.
	Refused []Refusal
}

// Guest is the instance as the functions see it.
type Guest interface {
	// Bytes returns a view of the memory, valid until the guest runs again.
	Bytes(ptr, size uint32) ([]byte, bool)
	// Charge takes fuel; it does not return if there is none left.
	Charge(n uint64)
	// Abort ends the call with an error and Exit with a status; neither returns.
	Abort(err error)
	Exit(status uint32)
	// Streams is the other end of the standard streams, or nil: then writes
	// vanish and reads are at their end.
	Streams() Streams
	// Channel is the other end of the channel, or nil.
	Channel() Channel
}

// Streams is the other end of what a guest writes and reads.
type Streams interface {
	// Output takes what the guest wrote to standard output (1) or error (2).
	// An error ends the call.
	Output(fd int, p []byte) error
	// Input fills p from standard input; 0 is the end.
	Input(p []byte) int
}

// Channel takes messages from a guest and answers each at once.
type Channel interface {
	// Limit is how long a message may be, in bytes.
	Limit() int
	// Exchange takes a message, of which all beyond one byte more than Limit is
	// cut off, and returns the answer. It may end the guest's call.
	Exchange(message []byte) (answer []byte)
}

// State is what changes while the guest runs. It starts anew at every restore
// of a snapshot, so clocks and random numbers are functions of what the guest
// does.
type State struct {
	Elapsed uint64   // on the clock, in ns
	Random  uint64   // the state of the generator
	open    []handle // from firstHandle on
}

// NewState is the state of an instance that has not run.
func NewState() State { return State{Random: randomSeed} }

// Clone returns a copy that shares nothing.
func (s *State) Clone() State {
	c := *s
	c.open = append(s.open[:0:0], s.open...)
	return c
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
