package share

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// request is what a session asks of its vector.
type request struct {
	session *Session
	op      env.Op
	seed    uint64
	action  Action
	answer  chan answer // of one place: nobody has to be there to take it
}

type answer struct {
	frame *Frame
	err   error
}

// vector is one env.Env, the sessions in its slots and the goroutine that talks
// to it.
type vector struct {
	number int
	env    env.Env
	spec   env.Spec
	life   context.Context
	log    *slog.Logger
	wake   chan struct{} // of one place: there is something new in pending

	mu       sync.Mutex
	sessions []*Session // by slot; nil = free
	pending  []*request // by slot; nil = none
	waiting  int        // how many are pending
	soon     int        // sessions that are recent and ask for nothing yet
	bound    int        // how many sessions there are
	crashes  []time.Time
	trouble  error // why it is down, while crashes say that it is

	// Of the goroutine:
	batch *env.Batch
	reply env.Reply
	takes average // a batch with steps only
}

func newVector(life context.Context, number int, e env.Env, log *slog.Logger) *vector {
	spec := e.Spec()
	return &vector{
		number: number, env: e, spec: spec, life: life, log: log, wake: make(chan struct{}, 1),
		sessions: make([]*Session, spec.Slots), pending: make([]*request, spec.Slots), batch: env.NewBatch(spec),
	}
}

// load is how many sessions sit here.
func (v *vector) load() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bound
}

// seat puts a new session into a free slot; there is one.
func (v *vector) seat() *Session {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &Session{vector: v, recent: true}
	for s.slot = range v.sessions {
		if v.sessions[s.slot] == nil {
			break
		}
	}
	v.sessions[s.slot] = s
	v.bound++
	v.soon++
	return s
}

// leave frees the slot of s, at once or when the batch that it is in is over.
func (v *vector) leave(s *Session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	v.drop(s)
	if !s.busy {
		v.free(s)
	}
	v.stir()
}

// free gives the slot to whoever comes next.
func (v *vector) free(s *Session) {
	v.sessions[s.slot] = nil
	v.bound--
}

// drop forgets what s asked for and that it may ask.
func (v *vector) drop(s *Session) {
	if v.pending[s.slot] != nil {
		v.pending[s.slot] = nil
		v.waiting--
	}
	if s.recent {
		s.recent = false
		v.soon--
	}
}

// post hands in what a session wants.
func (v *vector) post(r *request) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := r.session
	switch {
	case v.life.Err() != nil, s.closed:
		return ended(v.spec.Name)
	case s.busy || v.pending[s.slot] != nil:
		return wrong("the session waits for an answer already", "ask for one thing at a time")
	case r.op == env.Step && s.lost:
		return lost(v.spec.Name)
	}
	v.drop(s)
	v.pending[s.slot] = r
	v.waiting++
	v.stir()
	return nil
}

// withdraw takes back a request that is in no batch yet. One that is will be
// answered to nobody.
func (v *vector) withdraw(r *request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pending[r.session.slot] == r {
		v.drop(r.session)
	}
}

// stir lets the goroutine look again.
func (v *vector) stir() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func lost(where string) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Crashed, Where: where, What: "the episode is lost", Err: errLost, Hint: "reset the session to begin another",
	}
}
