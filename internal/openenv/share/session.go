package share

import (
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// Session is one slot. It is not safe for concurrent use.
type Session struct {
	vector *vector
	slot   int
	phase  phase

	// Guarded by vector.mu:
	recent bool // in the last batch, or new: it will probably send a request soon
	lost   bool // its episode was lost when the vector failed
	closed bool
	busy   bool // in the current batch
}

// phase is the state of a session's episode.
type phase byte

const (
	fresh phase = iota // never reset, or failed
	live
	over
)

// Action is the next action of a session: an index into Spec.Actions or, if Spec.Actions
// is empty, a text.
type Action struct {
	Index int
	Text  string
}

// Frame is the answer of a session's slot. It shares no memory.
type Frame struct {
	Anchor, Text string
	Features     []float32 // row-major in Spec.FeatureShape; empty if there are none
	Mask         []byte    // one byte per action, 1 = available
	Reward       float64
	Flags        env.Flag
	Events       []env.Event
}

// Reset starts the episode of the seed. If ctx is done before the answer, the session
// needs another Reset.
func (s *Session) Reset(ctx context.Context, seed uint64) (*Frame, error) {
	return s.ask(ctx, &request{session: s, op: env.Reset, seed: seed, answer: make(chan answer, 1)})
}

// Step applies an action. Its error is a *fault.Error: of kind Invalid if no episode is
// active, or the action is invalid.
func (s *Session) Step(ctx context.Context, a Action) (*Frame, error) {
	spec := s.vector.spec
	switch {
	case s.phase == fresh:
		return nil, wrong("no episode is active", "reset the session first")
	case s.phase == over:
		return nil, wrong("the episode is over", "reset the session to begin another")
	case len(spec.Actions) > 0 && (a.Index < 0 || a.Index >= len(spec.Actions)):
		return nil, wrong("the environment does not have this action", "choose one of its actions by name or index")
	}
	return s.ask(ctx, &request{session: s, op: env.Step, action: a, answer: make(chan answer, 1)})
}

func wrong(what, hint string) error {
	return &fault.Error{Boundary: fault.Server, Kind: fault.Invalid, What: what, Hint: hint}
}

// ask waits for the answer to r.
func (s *Session) ask(ctx context.Context, r *request) (*Frame, error) {
	s.phase = fresh
	if err := s.vector.post(r); err != nil {
		return nil, err
	}
	var a answer
	select {
	case a = <-r.answer:
	case <-ctx.Done():
		s.vector.withdraw(r)
		return nil, context.Cause(ctx)
	case <-s.vector.life.Done():
		return nil, ended(s.vector.spec.Name)
	}
	if a.err != nil {
		return nil, a.err
	}
	if a.frame.Flags&env.Failed != 0 {
		return nil, &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Crashed, Where: s.vector.spec.Name, What: a.frame.reason(), Hint: "reset the session to begin another episode",
		}
	}
	s.phase = live
	if a.frame.Flags&(env.Terminated|env.Truncated) != 0 {
		s.phase = over
	}
	return a.frame, nil
}

// reason returns why a slot failed.
func (f *Frame) reason() string {
	i := slices.IndexFunc(f.Events, func(e env.Event) bool { return e.Kind == env.EventError })
	if i < 0 {
		return "the slot failed without a reason"
	}
	return f.Events[i].Message
}

// Close frees the slot. It may be called more than once, and while another goroutine
// waits for an answer.
func (s *Session) Close() { s.vector.leave(s) }

// errLost is the cause of a failed step after a restart of the vector.
var errLost = errors.New("the environment was restarted since the last reset")
