package sampling

import (
	"encoding/binary"
	"errors"
	"math"
)

// Metrics describe the tasks of a run at the end of an iteration.
type Metrics struct {
	Tasks    int     `json:"tasks"`              // tasks in the set that training draws from
	Played   int     `json:"played"`             // tasks that were played at least once
	Epochs   float64 `json:"epochs"`             // groups played so far ÷ tasks in the set
	Equal    float64 `json:"equal_scores"`       // share of the groups played in the iteration whose scores were all equal
	Active   int     `json:"active,omitempty"`   // pools: tasks that do not rest
	Solved   int     `json:"solved,omitempty"`   // pools: tasks that rest because they are always solved
	Unsolved int     `json:"unsolved,omitempty"` // pools: tasks that rest because they are never solved
	Again    int     `json:"again,omitempty"`    // pools: groups of resting tasks that were due
}

// Measure describes the tasks, and what was drawn and reported since the last Measure. It
// returns nil if there is no sampler.
func (s *Sampler) Measure() *Metrics {
	if s == nil {
		return nil
	}
	m := &Metrics{Again: s.again, Equal: float64(s.equal) / float64(max(s.heard, 1))}
	s.again, s.equal, s.heard = 0, 0, 0
	for _, t := range s.sets {
		m.Tasks += t.size
		for _, r := range t.known {
			if r.last > 0 {
				m.Played++
			}
			switch rests := s.cfg.Method == Pools && r.rests(s.cfg.Window); {
			case s.cfg.Method != Pools:
			case rests && r.results == 0:
				m.Unsolved++
			case rests:
				m.Solved++
			default:
				m.Active++
			}
		}
	}
	m.Epochs = float64(s.drawn) / float64(m.Tasks)
	return m
}

// layout is the version of State.
const layout = 1

// State returns the state between two iterations: at most 21 bytes for each task.
func (s *Sampler) State() []byte {
	le := binary.LittleEndian
	b := le.AppendUint64([]byte{layout}, s.drawn)
	for _, t := range s.sets {
		b = le.AppendUint64(le.AppendUint32(b, uint32(t.size)), t.drawn)
		for _, r := range t.known {
			b = append(le.AppendUint32(le.AppendUint64(b, r.results), r.last), r.n)
			b = le.AppendUint64(b, math.Float64bits(r.cost))
		}
	}
	return b
}

// Restore puts s into a state of a sampler with the same settings.
func (s *Sampler) Restore(state []byte) error {
	want := 1 + 8
	for _, t := range s.sets {
		want += 4 + 8 + 21*t.size
	}
	if len(state) != want || state[0] != layout {
		return errors.New("it is not the state of a sampler of these tasks")
	}
	le, b := binary.LittleEndian, state[1:]
	s.drawn, b = le.Uint64(b), b[8:]
	for i := range s.sets {
		t := &s.sets[i]
		if int(le.Uint32(b)) != t.size {
			return errors.New("the environment has another number of tasks than when the run began")
		}
		t.drawn, t.order, b = le.Uint64(b[4:]), nil, b[12:]
		for k := range t.known {
			t.known[k] = record{results: le.Uint64(b), last: le.Uint32(b[8:]), n: b[12], cost: math.Float64frombits(le.Uint64(b[13:]))}
			b = b[21:]
		}
	}
	s.open, s.again, s.equal, s.heard = nil, 0, 0, 0
	return nil
}
