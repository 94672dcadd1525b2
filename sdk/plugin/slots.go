package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// state is the state of a slot between two operations.
type state byte

const (
	fresh  state = iota // never reset
	live                // within an episode
	over                // at the end of an episode
	faulty              // failed; usable again after a reset
)

// slots is an env.Env made of an Environment: it calls each slot in turn.
type slots struct {
	spec   Spec
	slots  []Slot
	states []state
	closed bool

	encoder Encoder                      // nil if the environment does not read recorded calls
	tracker interface{ Enter(slot int) } // nil if opened in this process

	turn         Turn
	anchor, text arena
	features     int
}

var errNoPicture = errors.New("the environment draws no picture")

func newSlots(e Environment, name, version string, n int) (env.Env, error) {
	spec := e.Spec()
	spec.Name, spec.Version, spec.Slots = name, version, n
	v := &slots{spec: spec, states: make([]state, n), features: spec.Features()}
	v.encoder, v.spec.Encodes = e.(Encoder)
	for i := range n {
		s, err := e.NewSlot()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("slot %d: %w", i, err), v.Close())
		}
		v.slots = append(v.slots, s)
		_, v.spec.Snapshots = s.(Snapshotter)
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
		if v.tracker != nil && op != env.Skip {
			v.tracker.Enter(i)
		}
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
		if b.Want&env.WantText != 0 {
			v.text.add(v.turn.shown())
		}
	}
	v.anchor.strings(r.Anchor)
	if v.text.equal(&v.anchor) {
		copy(r.Text, r.Anchor)
	} else {
		v.text.strings(r.Text)
	}
	return nil
}

// prepare sizes and clears the columns of the reply.
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
	r.Events = r.Events[:0] // end does not run if every slot is skipped
	v.turn.events = r.Events
}

// begin points the turn at the rows of slot i. Setting the fields one by one is
// cheaper than a new Turn.
func (v *slots) begin(i int, want env.Want, r *env.Reply) {
	actions, t := len(v.spec.Actions), &v.turn
	t.Anchor, t.Text = t.Anchor[:0], t.Text[:0]
	t.Features, t.Mask = nil, r.Mask[i*actions:(i+1)*actions:(i+1)*actions]
	t.Reward, t.Terminated, t.Truncated, t.InvalidAction = 0, false, false, false
	t.slot, t.before = i, len(t.events)
	if want&env.WantFeatures != 0 && v.features > 0 {
		t.Features = r.Features[i*v.features : (i+1)*v.features : (i+1)*v.features]
	}
}

// end copies the turn, or the error of the slot, into the rows of slot i.
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
		return errors.New("the slot was stepped before its first reset")
	case over:
		return errors.New("the slot was stepped after the end of its episode")
	case faulty:
		return errors.New("the slot was stepped after it failed; reset it first")
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
		return "", errSlot(slot, len(v.slots))
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

// Snapshotter is an optional interface of a Slot: its state can be saved and
// restored. Either all slots of an environment implement it or none.
type Snapshotter interface {
	// Snapshot returns all state that determines the rest of the episode, at
	// most 1 MiB. It changes nothing.
	Snapshot() ([]byte, error)
	// Restore sets the slot to a state that Snapshot returned, perhaps for
	// another slot or in another process. It returns an error if the state is
	// not valid.
	Restore(state []byte) error
}

// kept maps the first byte of a snapshot to the state of its slot.
var kept = map[byte]state{byte(live): live, byte(over): over}

var errNoSnapshots = errors.New("the environment does not support snapshots")

func errSlot(slot, slots int) error {
	return fmt.Errorf("slot %d does not exist: the environment has %d slots", slot, slots)
}

// snapshotter returns a slot by number if it exists and supports snapshots.
func (v *slots) snapshotter(slot int) (Snapshotter, error) {
	if slot < 0 || slot >= len(v.slots) {
		return nil, errSlot(slot, len(v.slots))
	}
	if s, ok := v.slots[slot].(Snapshotter); ok {
		return s, nil
	}
	return nil, errNoSnapshots
}

// Snapshot implements env.Snapshotter. The first byte is the state of the slot.
func (v *slots) Snapshot(_ context.Context, slot int) (state []byte, err error) {
	s, err := v.snapshotter(slot)
	if err != nil {
		return nil, err
	}
	if at := v.states[slot]; at != live && at != over {
		return nil, errors.New("the slot is not in an episode")
	}
	defer recovered(&err)
	own, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	if len(own)+1 > env.MaxSnapshot {
		return nil, fmt.Errorf("the snapshot has %d bytes, more than the limit of %d", len(own), env.MaxSnapshot-1)
	}
	return append([]byte{byte(v.states[slot])}, own...), nil
}

// Restore implements env.Snapshotter. If it fails, the slot counts as failed.
func (v *slots) Restore(_ context.Context, slot int, state []byte) (err error) {
	s, err := v.snapshotter(slot)
	if err != nil {
		return err
	}
	v.states[slot] = faulty
	if len(state) == 0 || state[0] != byte(live) && state[0] != byte(over) {
		return errors.New("the state is not a snapshot of this environment")
	}
	defer recovered(&err)
	if err := s.Restore(state[1:]); err != nil {
		return err
	}
	v.states[slot] = kept[state[0]]
	return nil
}

// arena collects the texts of a batch in one allocation.
type arena struct {
	bytes []byte
	ends  []int
}

func (a *arena) clear() { a.bytes, a.ends = a.bytes[:0], a.ends[:0] }

func (a *arena) add(text []byte) {
	a.bytes = append(a.bytes, text...)
	a.ends = append(a.ends, len(a.bytes))
}

// equal reports whether a and b contain the same texts.
func (a *arena) equal(b *arena) bool {
	return bytes.Equal(a.bytes, b.bytes) && slices.Equal(a.ends, b.ends)
}

// strings sets texts to the first texts of a. They share memory that is never
// written again.
func (a *arena) strings(texts []string) {
	if len(texts) == 0 {
		return
	}
	whole, start := string(a.bytes), 0
	for i := range texts {
		texts[i] = whole[start:a.ends[i]]
		start = a.ends[i]
	}
}

// resize returns s with length n. It keeps the memory of s if that is large
// enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

var errNoEncoder = errors.New("the environment does not read recorded calls: implement plugin.Encoder")

// Encode implements env.Encoder.
func (v *slots) Encode(_ context.Context, messages []string, answer string, r *env.Reply) (action int, err error) {
	if v.encoder == nil {
		return 0, errNoEncoder
	}
	t := Turn{Features: make([]float32, v.features), Mask: bytes.Repeat([]byte{1}, len(v.spec.Actions))}
	action, err = guarded(func() (int, error) { return v.encoder.Encode(messages, answer, &t) })
	if err == nil {
		err = t.encoded(action)
	}
	r.Anchor, r.Features, r.Mask = append(r.Anchor[:0], string(t.Anchor)), t.Features, t.Mask
	return action, err
}
