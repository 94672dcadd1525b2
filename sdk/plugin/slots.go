package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// state is where a slot stands between two operations.
type state byte

const (
	fresh  state = iota // never reset
	live                // within an episode
	over                // at the end of one
	faulty              // failed; only a reset helps
)

// slots makes an env.Env of an Environment: it calls each slot in turn.
type slots struct {
	spec   Spec
	slots  []Slot
	states []state
	closed bool

	turn         Turn
	anchor, text arena
	features     int
}

var errNoPicture = errors.New("the environment draws no picture")

func newSlots(e Environment, name, version string, n int) (env.Env, error) {
	spec := e.Spec()
	spec.Name, spec.Version, spec.Slots = name, version, n
	v := &slots{spec: spec, states: make([]state, n), features: spec.Features()}
	for i := range n {
		s, err := e.NewSlot()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("slot %d: %w", i, err), v.Close())
		}
		v.slots = append(v.slots, s)
	}
	return v, nil
}

// Spec implements env.Env.
func (v *slots) Spec() Spec { return v.spec }

// Exchange implements env.Env.
func (v *slots) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if v.closed {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: v.spec.Name, What: "the environment is closed"}
	}
	if err := b.Check(v.spec); err != nil {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: v.spec.Name, What: err.Error()}
	}
	v.prepare(b.Want, r)
	for i, op := range b.Ops {
		v.begin(i, b.Want, r)
		var err error
		switch op {
		case env.Reset:
			err = v.reset(i, b.Seeds[i])
		case env.Step:
			err = v.step(i, Action{Index: int(b.Actions[i]), Text: b.Texts[i]})
		}
		if err == nil {
			err = v.turn.check(op)
		}
		if op != env.Skip {
			v.end(i, err, r)
		}
		v.anchor.add(v.turn.Anchor)
		if len(v.turn.Text) == 0 {
			v.turn.Text = append(v.turn.Text, v.turn.Anchor...)
		}
		v.text.add(v.turn.Text)
	}
	v.anchor.strings(r.Anchor)
	v.text.strings(r.Text)
	return nil
}

// prepare gives the reply its columns.
func (v *slots) prepare(want env.Want, r *env.Reply) {
	n := v.spec.Slots
	v.anchor.clear()
	v.text.clear()
	r.Anchor, r.Text = resize(r.Anchor, n), r.Text[:0]
	if want&env.WantText != 0 {
		r.Text = resize(r.Text, n)
	}
	r.Features = r.Features[:0]
	if want&env.WantFeatures != 0 {
		r.Features = resize(r.Features, n*v.features)
	}
	r.Mask = resize(r.Mask, n*len(v.spec.Actions))
	r.Reward, r.Flags = resize(r.Reward, n), resize(r.Flags, n)
	clear(r.Features)
	clear(r.Reward)
	clear(r.Flags)
	for i := range r.Mask {
		r.Mask[i] = 1
	}
	v.turn.events = r.Events[:0]
}

// begin points the turn at the rows of slot i.
func (v *slots) begin(i int, want env.Want, r *env.Reply) {
	actions := len(v.spec.Actions)
	v.turn = Turn{
		Anchor: v.turn.Anchor[:0],
		Text:   v.turn.Text[:0],
		Mask:   r.Mask[i*actions : (i+1)*actions : (i+1)*actions],
		slot:   i,
		events: v.turn.events,
		before: len(v.turn.events),
	}
	if want&env.WantFeatures != 0 && v.features > 0 {
		v.turn.Features = r.Features[i*v.features : (i+1)*v.features : (i+1)*v.features]
	}
}

// end copies what the slot said into its rows, or why it is broken.
func (v *slots) end(i int, err error, r *env.Reply) {
	r.Events = v.turn.events
	if err != nil {
		v.states[i] = faulty
		v.turn.Anchor, v.turn.Text = v.turn.Anchor[:0], v.turn.Text[:0]
		clear(v.turn.Mask)
		clear(v.turn.Features)
		v.turn.events = append(v.turn.events[:v.turn.before], env.Event{Slot: i, Kind: env.EventError, Message: err.Error()})
		r.Flags[i] = env.Failed
		r.Events = v.turn.events
		return
	}
	v.states[i] = live
	if v.turn.Terminated || v.turn.Truncated {
		v.states[i] = over
	}
	r.Reward[i], r.Flags[i] = v.turn.Reward, v.turn.flags()
}

func (v *slots) reset(i int, seed uint64) (err error) {
	defer recovered(&err)
	return v.slots[i].Reset(seed, &v.turn)
}

func (v *slots) step(i int, a Action) (err error) {
	switch v.states[i] {
	case fresh:
		return errors.New("stepped before its first reset")
	case over:
		return errors.New("stepped after the end of its episode")
	case faulty:
		return errors.New("stepped after it failed; only a reset helps")
	}
	defer recovered(&err)
	return v.slots[i].Step(a, &v.turn)
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = panicked(p)
	}
}

// Render implements env.Renderer.
func (v *slots) Render(_ context.Context, slot int) (text string, err error) {
	if slot < 0 || slot >= len(v.slots) {
		return "", fmt.Errorf("slot %d is not one of %d", slot, len(v.slots))
	}
	defer recovered(&err)
	if s, ok := v.slots[slot].(fmt.Stringer); ok {
		return s.String(), nil
	}
	return "", errNoPicture
}

// Close implements env.Env.
func (v *slots) Close() error {
	if v.closed {
		return nil
	}
	v.closed = true
	var errs []error
	for _, s := range v.slots {
		if c, ok := s.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
