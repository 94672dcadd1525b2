package cputime

import "sync"

// Shares divides the CPU time of this process among the pieces of work that it does at the same
// time: while n of them run, each gets an nth. The shares add up to what the process used while
// it worked, and idle times belong to none. The zero value is ready, and safe for concurrent use.
type Shares struct {
	mu      sync.Mutex
	last    float64
	running map[*share]struct{}
}

type share struct{ seconds float64 }

// Begin starts a piece of work. The returned function ends it, once, and returns its CPU seconds.
func (s *Shares) Begin() (end func() float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.divide()
	if s.running == nil {
		s.running = map[*share]struct{}{}
	}
	x := new(share)
	s.running[x] = struct{}{}
	return func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.divide()
		delete(s.running, x)
		return x.seconds
	}
}

// divide gives what was used since the last call to the running pieces.
func (s *Shares) divide() {
	now := Seconds()
	for x := range s.running {
		x.seconds += max(0, now-s.last) / float64(len(s.running))
	}
	s.last = now
}
