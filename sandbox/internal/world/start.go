package world

import (
	"sync"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
)

// starts holds the states after recent resets. The members of a group begin in one start,
// and each is in a separate instance: the first one to reset keeps its state, and the
// others copy it, which costs what differs from the origin. The turn is part of the state,
// and the fuel of the reset counts for each member, so nothing depends on what is kept. A set
// of tasks that is played again and again begins in kept states, too.
type starts struct {
	known  map[startKey]*start
	recent []startKey // a ring
	next   int
	mu     sync.Mutex // guards the states, turns and fuel
	states *fork.Store
}

// mostStarts is how many starts are known, with or without their states, and mostState
// bounds the memory of these, in bytes.
const (
	mostStarts = 4096
	mostState  = 64 << 20
)

type startKey struct {
	seed uint64
	want env.Want
}

// start is the state after a reset.
type start struct {
	uses  int        // resets so far
	state *fork.Fork // nil until the second use is known
	turn  uint32     // where its Turn is
	fuel  uint64
}

// expect counts the resets of a batch, before they run.
func (s *starts) expect(b *env.Batch) {
	for i, op := range b.Ops {
		if op == env.Reset {
			s.of(startKey{b.Seeds[i], b.Want}).uses++
		}
	}
}

// of returns the start of a key. It is not safe for concurrent use.
func (s *starts) of(key startKey) *start {
	if st := s.known[key]; st != nil {
		return st
	}
	if s.known == nil {
		s.known, s.states = map[startKey]*start{}, fork.NewStore(mostState)
	}
	if len(s.recent) < mostStarts {
		s.recent = append(s.recent, key)
	} else {
		s.drop(s.recent[s.next])
		s.recent[s.next] = key
		s.next = (s.next + 1) % mostStarts
	}
	s.known[key] = &start{}
	return s.known[key]
}

// drop forgets a start.
func (s *starts) drop(key startKey) {
	if state := s.known[key].state; state != nil {
		state.Release()
	}
	delete(s.known, key)
}

// copy returns the kept state of a start, if there is one.
func (s *starts) copy(key startKey) (start, *fork.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.known[key]; st != nil && st.state != nil {
		if point, err := st.state.Point(); err == nil {
			return *st, point
		}
		st.state = nil // dropped
	}
	return start{}, nil
}

// keep keeps the state of a slot that has just reset, if others need it and it can be
// copied.
func (s *starts) keep(key startKey, g *guest, turn uint32, fuel uint64) {
	st := s.known[key]
	if st == nil || st.uses < 2 {
		return
	}
	point, err := g.instance.Fork()
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.state == nil {
		st.state, st.turn, st.fuel = s.states.Keep(point), turn, fuel
	}
}
