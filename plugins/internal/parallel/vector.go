// Package parallel steps slots that wait for other programs, such as servers, at the same
// time. A batch takes as long as its slowest slot.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Frame is what a slot shows after an operation. See plugin.Turn for its fields.
type Frame struct {
	Anchor, Text string
	Features     []float32
	Mask         []byte // empty: every action is available
	Reward       float64
	Flags        env.Flag
	Events       []env.Event // without their slot
}

// Slot plays one episode at a time. After an error, only a reset helps.
type Slot interface {
	Reset(ctx context.Context, seed uint64) (Frame, error)
	Step(ctx context.Context, action plugin.Action) (Frame, error)
	Close()
}

// Vector is a plugin.Vector of independent slots.
type Vector struct {
	spec   plugin.Spec
	slots  []Slot
	frames []Frame
	shown  []string // by slot: its last text
	live   []bool   // by slot: an episode is active
	closed bool
	end    func() error
}

// New returns a vector of slots. spec.Slots is their number. end is called after all slots are
// closed; it may be nil.
func New(spec plugin.Spec, slots []Slot, end func() error) *Vector {
	n := len(slots)
	spec.Slots = n
	return &Vector{spec: spec, slots: slots, frames: make([]Frame, n), shown: make([]string, n), live: make([]bool, n), end: end}
}

// Spec implements plugin.Vector.
func (v *Vector) Spec() plugin.Spec { return v.spec }

// Exchange implements plugin.Vector.
func (v *Vector) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if v.closed {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, What: "the environment is closed"}
	}
	if err := b.Check(v.spec); err != nil {
		return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, What: err.Error()}
	}
	var wait sync.WaitGroup
	for i, op := range b.Ops {
		if op != env.Skip {
			wait.Go(func() { v.frames[i] = v.play(ctx, i, op, b) })
		}
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	v.fill(b, r)
	return nil
}

// play is one slot's part of a batch.
func (v *Vector) play(ctx context.Context, i int, op env.Op, b *env.Batch) (f Frame) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			f = Frame{Flags: env.Failed, Events: []env.Event{{Kind: env.EventError, Message: wire.Clean(err.Error(), wire.MaxText)}}}
		}
		v.live[i] = err == nil && f.Flags&(env.Terminated|env.Truncated) == 0
	}()
	switch {
	case op == env.Reset:
		f, err = v.slots[i].Reset(ctx, b.Seeds[i])
	case !v.live[i]:
		err = errors.New("stepped outside an episode; only a reset helps")
	default:
		f, err = v.slots[i].Step(ctx, plugin.Action{Index: int(b.Actions[i]), Text: b.Texts[i]})
	}
	if err == nil && len(f.Events) > wire.MaxEvents { // the host would end the process of all slots
		err = fmt.Errorf("%d tool results, infos and metrics in one turn, at most %d", len(f.Events), wire.MaxEvents)
	}
	v.shown[i] = f.Text
	return f
}

// fill writes the frames into the columns of a reply.
func (v *Vector) fill(b *env.Batch, r *env.Reply) {
	n, nf, na := v.spec.Slots, v.spec.Features(), len(v.spec.Actions)
	*r = env.Reply{
		Anchor: make([]string, n), Reward: make([]float64, n), Flags: make([]env.Flag, n), Mask: make([]byte, n*na), Events: r.Events[:0],
	}
	for i := range r.Mask {
		r.Mask[i] = 1
	}
	if b.Want&env.WantText != 0 {
		r.Text = make([]string, n)
	}
	if b.Want&env.WantFeatures != 0 && nf > 0 {
		r.Features = make([]float32, n*nf)
	}
	for i, op := range b.Ops {
		if op == env.Skip {
			continue
		}
		f := &v.frames[i]
		r.Anchor[i], r.Reward[i], r.Flags[i] = f.Anchor, f.Reward, f.Flags
		copy(r.Mask[i*na:], f.Mask)
		if r.Text != nil {
			r.Text[i] = f.Text
		}
		if r.Features != nil {
			copy(r.Features[i*nf:(i+1)*nf], f.Features)
		}
		for _, e := range f.Events {
			e.Slot = i
			r.Events = append(r.Events, e)
		}
	}
}

// Render implements env.Renderer. It returns what the policy saw last.
func (v *Vector) Render(_ context.Context, i int) (string, error) {
	if i < 0 || i >= len(v.slots) {
		return "", fmt.Errorf("slot %d is not one of %d", i, len(v.slots))
	}
	if v.shown[i] == "" {
		return "", errors.New("there is nothing to draw before the first reset")
	}
	return v.shown[i], nil
}

// Close implements plugin.Vector. It closes all slots at the same time.
func (v *Vector) Close() error {
	if v.closed {
		return nil
	}
	v.closed = true
	var wait sync.WaitGroup
	for _, s := range v.slots {
		wait.Go(s.Close)
	}
	wait.Wait()
	if v.end != nil {
		return v.end()
	}
	return nil
}
