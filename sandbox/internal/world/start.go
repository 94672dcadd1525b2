package world

import (
	"sync"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
)

// starts holds the states after recent resets. The members of a group begin in one start,
// and each is in a separate instance: the first one to reset keeps its state, and the
// others copy it, which costs what differs from the origin. The turn is part of the state,
// and the fuel of the reset counts for each member, so nothing depends on what is kept.
type starts struct {
	known  map[startKey]*start
	recent []startKey // a ring
	next   int
	mu     sync.Mutex // guards the points, turns and fuel
}

// mostStarts is how many starts are known, with or without their states.
const mostStarts = 256

type startKey struct {
	seed uint64
	want env.Want
}

// start is the state after a reset.
type start struct {
	uses  int         // resets so far
	point *fork.Point // nil until the second use is known
	turn  uint32      // where its Turn is
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
		s.known = map[startKey]*start{}
	}
	if len(s.recent) < mostStarts {
		s.recent = append(s.recent, key)
	} else {
		delete(s.known, s.recent[s.next])
		s.recent[s.next] = key
		s.next = (s.next + 1) % mostStarts
	}
	s.known[key] = &start{}
	return s.known[key]
}

// copy returns the kept state of a start, if there is one.
func (s *starts) copy(key startKey) *start {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.known[key]; st != nil && st.point != nil {
		return st
	}
	return nil
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
	if st.point == nil {
		st.point, st.turn, st.fuel = point, turn, fuel
	}
}
