package world

import (
	"context"
	"errors"
	"strconv"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// state is the state of a slot between two operations.
type state byte

const (
	unset  state = iota // not reset yet, or not since an error of the batch
	live                // within an episode
	over                // at the end of an episode
	failed              // usable again after a reset
)

// slot plays one episode at a time in a separate instance.
type slot struct {
	env   *Environment
	index int
	guest *guest // nil before the first reset and after a failure
	state state
	fuel  uint64 // of all its resets and steps
	began uint64 // fuel at the start of the episode
}

// Metric is the name of the metric with the fuel of an episode, its reset included, also if the
// episode fails.
const Metric = "env_fuel"

// wrong says why a slot in a state cannot step.
var wrong = map[state]error{
	unset:  errors.New("the slot was stepped before its first reset"),
	over:   errors.New("the slot was stepped after the end of its episode"),
	failed: errors.New("the slot was stepped after it failed; reset it first"),
}

// drop throws the instance away: its state is unknown.
func (s *slot) drop() {
	if s.guest != nil {
		s.guest.close()
		s.guest = nil
	}
}

// begin brings the slot to the state where episodes begin.
func (s *slot) begin(ctx context.Context) (err error) {
	if s.env.origin == nil || s.guest != nil && s.guest.instance.Restore() != nil {
		s.drop()
	}
	if s.guest == nil {
		s.guest, err = s.env.fresh(ctx)
	}
	return err
}

// turn applies an operation and returns where the Turn of the guest is.
func (s *slot) turn(ctx context.Context, op env.Op, b *env.Batch) (at uint32, err error) {
	if op == env.Reset {
		return s.reset(ctx, startKey{b.Seeds[s.index], b.Want})
	}
	if s.state != live {
		return 0, wrong[s.state]
	}
	return s.run(ctx, "step", func() (uint32, *engine.Stop) {
		return s.guest.player.Step(b.Actions[s.index], b.Texts[s.index], uint32(b.Want))
	})
}

// reset starts the episode of a seed, by a copy of the same start if one is kept.
func (s *slot) reset(ctx context.Context, key startKey) (at uint32, err error) {
	s.began = s.fuel
	if known, point := s.env.starts.copy(key); point != nil && s.guest != nil {
		if s.guest.instance.Resume(point) == nil {
			s.fuel += known.fuel
			return known.turn, nil
		}
		s.drop()
	}
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	at, err = s.run(ctx, "reset", func() (uint32, *engine.Stop) { return s.guest.player.Reset(key.seed, uint32(key.want)) })
	if err == nil {
		s.env.starts.keep(key, s.guest, at, s.fuel-s.began)
	}
	return at, err
}

// run makes calls, and counts their fuel.
func (s *slot) run(ctx context.Context, doing string, calls func() (uint32, *engine.Stop)) (at uint32, err error) {
	at, fuel, err := s.guest.run(ctx, doing, s.env.module.budget(), calls)
	s.fuel += fuel
	if err != nil {
		s.drop()
	}
	return at, err
}

// worker plays a range of slots. Its memory is used again.
type worker struct {
	anchor, text arena
	events       []env.Event
	err          error // the context ended
}

// play fills the rows of the slots from low to high.
func (w *worker) play(ctx context.Context, e *Environment, low, high int, b *env.Batch, r *env.Reply) {
	w.anchor.clear()
	w.text.clear()
	w.events, w.err = w.events[:0], nil
	for i := low; i < high; i++ {
		s := &e.slots[i]
		row := rowOf(e.spec, i, r)
		if b.Ops[i] == env.Skip {
			row.blank()
		} else if err := w.one(ctx, s, b, row); err != nil {
			if ctx.Err() != nil {
				w.err = ctx.Err()
				return
			}
			if s.state == live || b.Ops[i] == env.Reset {
				w.events = append(w.events, s.used())
			}
			s.state = failed
			row.blank()
			*row.flag = env.Failed
			w.events = append(w.events, env.Event{Slot: i, Kind: env.EventError, Message: told(err)})
		}
		w.anchor.end()
		w.text.end()
	}
	w.anchor.strings(r.Anchor[min(low, len(r.Anchor)):])
	if len(r.Text) > 0 {
		w.text.strings(r.Text[low:])
	}
}

// one plays one slot. After an error its row, its events and its texts are undone.
func (w *worker) one(ctx context.Context, s *slot, b *env.Batch, row row) error {
	events, anchor, text := len(w.events), len(w.anchor.bytes), len(w.text.bytes)
	op := b.Ops[s.index]
	at, err := s.turn(ctx, op, b)
	if err == nil {
		err = w.read(s, at, op, b.Want, row)
	}
	if err != nil {
		w.events, w.anchor.bytes, w.text.bytes = w.events[:events], w.anchor.bytes[:anchor], w.text.bytes[:text]
		return err
	}
	switch {
	case *row.flag&env.Failed != 0:
		s.state = failed
		w.events = append(w.events, s.used())
	case *row.flag&(env.Terminated|env.Truncated) != 0:
		s.state = over
		w.events = append(w.events, s.used())
	default:
		s.state = live
	}
	return nil
}

// used reports the fuel of the episode.
func (s *slot) used() env.Event {
	return env.Event{Slot: s.index, Kind: env.EventMetric, Name: Metric, Message: strconv.FormatUint(s.fuel-s.began, 10)}
}

// told is the text of the failure of a slot, with what to do.
func told(err error) string {
	if f := fault.As(err); f != nil && f.Hint != "" {
		return err.Error() + "; " + f.Hint
	}
	return err.Error()
}
