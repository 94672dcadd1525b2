package envcontract

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
)

// nonsense is text that a language model may answer to anything.
var nonsense = []string{"", " ", "\x00", "{", `{"tool_calls": [{}]}`, "[]", "null", `[{"id":"x","type":"function","function":{"name":"no such tool","arguments":"{"}}]`, "✓ \u202e", strings.Repeat("long ", 4000)}

func anyText(d *driver) {
	if len(d.env.Spec().Actions) > 0 {
		d.Skip("actions are chosen from a list")
	}
	slot := 0
	d.only(slot)
	d.batch.Want = both
	for i, text := range nonsense {
		d.batch.Ops[slot], d.batch.Seeds[slot] = env.Reset, uint64(i)
		d.frame(slot)
		if d.ended {
			continue
		}
		d.batch.Ops[slot], d.batch.Texts[slot] = env.Step, text
		r := d.exchange()
		d.Require(r.Flags[slot]&env.Failed == 0, slotAt(slot, 1), "the slot fails on the text %.40q: %s", text, why(r, slot))
	}
}

func wrongBatch(d *driver) {
	good := d.episode(4, 5)
	short := &env.Batch{Ops: make([]env.Op, d.env.Spec().Slots+1)}
	d.Require(d.env.Exchange(d.ctx, short, &d.reply) != nil, "batch", "a batch with one slot too many is not an error")
	unknown := env.NewBatch(d.env.Spec())
	unknown.Ops[0] = env.Reset + 1
	d.Require(d.env.Exchange(d.ctx, unknown, &d.reply) != nil, "batch", "an unknown operation is not an error")
	if len(d.env.Spec().Actions) > 0 {
		absent := env.NewBatch(d.env.Spec())
		absent.Ops[0], absent.Actions[0] = env.Step, int32(len(d.env.Spec().Actions))
		d.Require(d.env.Exchange(d.ctx, absent, &d.reply) != nil, "batch", "an action that does not exist is not an error")
	}
	d.Same(good, d.episode(4, 5), "seed 4", "after a wrong batch, frame")
}

func canceled(d *driver) {
	good := d.episode(4, 5)
	ctx, cancel := context.WithCancel(d.ctx)
	cancel()
	d.resetAll(4)
	err := d.env.Exchange(ctx, d.batch, &d.reply)
	d.Require(errors.Is(err, context.Canceled), "batch", "after the context was canceled, the error is %v", err)
	d.Same(good, d.episode(4, 5), "seed 4", "after a canceled batch, frame")
}

func snapshots(d *driver) {
	s, ok := d.env.(env.Snapshotter)
	if !d.env.Spec().Snapshots || !ok {
		d.Skip("the environment does not support snapshots")
	}
	slot := d.env.Spec().Slots - 1
	d.batch.Want = both
	for seed := range uint64(4) {
		d.episode(seed, 3)
		if d.ended {
			continue
		}
		state, err := s.Snapshot(d.ctx, slot)
		d.OK(err, "snapshot")
		d.Require(len(state) > 0 && len(state) <= env.MaxSnapshot, "snapshot", "has %d bytes; it must have 1 to %d", len(state), env.MaxSnapshot)
		mask := append([]byte(nil), d.reply.Mask...)
		first := d.on(slot, 10)
		d.episode(seed+50, 2) // play something else in between
		again := func(o *driver, slot int, what string) {
			o.OK(o.env.(env.Snapshotter).Restore(o.ctx, slot, state), "restore")
			o.reply.Mask = append(o.reply.Mask[:0], mask...)
			if actions := len(o.env.Spec().Actions); slot == 0 && actions > 0 {
				copy(o.reply.Mask, row(mask, len(mask)/actions-1, actions))
			}
			o.only(slot)
			d.Same(first, o.on(slot, 10), what, "after a restore, frame")
		}
		again(d, slot, "the same slot")
		d.resetAll(9)
		d.exchange()
		again(d, 0, "another slot")
		nonsense := s.Restore(d.ctx, slot, []byte("nonsense, but long enough for a header"))
		d.Require(nonsense != nil, "restore", "nonsense is accepted as a state")
		other := d.another()
		other.batch.Want = both
		other.resetAll(1)
		other.exchange()
		again(other, slot, "another environment")
		return
	}
	d.Skip("all episodes ended within three steps")
}

// on continues an episode in a slot for some steps.
func (d *driver) on(slot, steps int) []frame {
	d.only(slot)
	d.ended = false
	var frames []frame
	for len(frames) < steps && !d.ended {
		frames = append(frames, d.step(slot, len(frames)))
	}
	return frames
}

func closeTwice(d *driver) {
	d.resetAll(1)
	d.exchange()
	d.OK(d.env.Close(), "close")
	d.OK(d.env.Close(), "the second close")
	d.Require(d.env.Exchange(d.ctx, d.batch, &d.reply) != nil, "a closed environment", "still answers")
}

func encodes(d *driver) {
	e, ok := d.env.(env.Encoder)
	spec := d.env.Spec()
	if !spec.Encodes || !ok {
		d.Skip("the environment does not read recorded calls")
	}
	var got env.Reply
	for _, text := range []string{"", "Hello! I am something else."} {
		_, err := e.Encode(d.ctx, []string{text}, "yes", &got)
		d.Require(errors.Is(err, fault.Of(fault.Data, fault.Refused)), fmt.Sprintf("the text %q", text), "is not refused; the error is %v", err)
	}
	d.walk(func(r *env.Reply) {
		for i, f := range r.Flags {
			if over(f) {
				continue
			}
			at := slotAt(i, d.steps)
			action, err := e.Encode(d.ctx, []string{spec.System, r.Text[i]}, "", &got)
			d.OK(err, at)
			d.Require(action >= -1 && action < len(spec.Actions), at, "its text is encoded with action %d of %d", action, len(spec.Actions))
			d.Same(r.Anchor[i], got.Anchor[0], at, "the anchor of its encoded text")
			d.Same(row(r.Features, i, spec.Features()), got.Features, at, "the features of its encoded text")
			d.Same(row(r.Mask, i, len(spec.Actions)), got.Mask, at, "the mask of its encoded text")
		}
	})
}
