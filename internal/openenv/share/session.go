package share

import (
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// Session is one slot, for one caller at a time.
type Session struct {
	vector *vector
	slot   int
	phase  phase

	// Of vector.mu:
	recent bool // served by the last batch, or new: it will ask soon
	lost   bool // its episode went with the vector
	closed bool
	busy   bool // in the batch under way
}

// phase is where the episode of a session stands.
type phase byte

const (
	fresh phase = iota // never reset, or failed
	live
	over
)

// Action is what a session does next: an index into Spec.Actions or, where that
// is empty, a text.
type Action struct {
	Index int
	Text  string
}

// Frame is what the slot of a session answered. Nothing of it is shared.
type Frame struct {
	Anchor, Text string
	Features     []float32 // row-major in Spec.FeatureShape; empty if there are none
	Mask         []byte    // one byte per action, 1 = available
	Reward       float64
	Flags        env.Flag
	Events       []env.Event
}

// Reset starts the episode of the seed. When ctx ends before the answer, the
// session needs another Reset.
func (s *Session) Reset(ctx context.Context, seed uint64) (*Frame, error) {
	return s.ask(ctx, &request{session: s, op: env.Reset, seed: seed, answer: make(chan answer, 1)})
}

// Step applies an action. Its error is a *fault.Error: of kind Invalid for a
// step that no episode is under way for, or an action that is not one.
func (s *Session) Step(ctx context.Context, a Action) (*Frame, error) {
	spec := s.vector.spec
	switch {
	case s.phase == fresh:
		return nil, wrong("there is no episode to step", "reset the session first")
	case s.phase == over:
		return nil, wrong("the episode is over", "reset the session to begin another")
	case len(spec.Actions) > 0 && (a.Index < 0 || a.Index >= len(spec.Actions)):
		return nil, wrong("the action is not one of the environment's", "choose one of its actions by name or index")
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

// reason is why a slot failed.
func (f *Frame) reason() string {
	i := slices.IndexFunc(f.Events, func(e env.Event) bool { return e.Kind == env.EventError })
	if i < 0 {
		return "the slot failed without a reason"
	}
	return f.Events[i].Message
}

// Close gives the slot back. It may be called more than once, and while another
// goroutine waits for an answer.
func (s *Session) Close() { s.vector.leave(s) }

// errLost is why a step cannot be: the vector is not what it was.
var errLost = errors.New("the environment was started again since the last reset")
