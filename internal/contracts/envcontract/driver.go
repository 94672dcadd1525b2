package envcontract

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/checks"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// driver plays episodes with actions that depend only on the step.
type driver struct {
	*checks.Checker
	ctx    context.Context
	open   Open
	env    env.Env
	opened []env.Env
	texts  []string
	batch  *env.Batch
	reply  env.Reply
	steps  int
	ended  bool // the last frame ended its episode
}

// frame is a copy of everything that a slot returned in one exchange.
type frame struct {
	Anchor, Text string
	Features     []float32
	Mask         []byte
	Reward       float64
	Flags        env.Flag
	Events       []env.Event
}

const both = env.WantText | env.WantFeatures

// start opens the environment.
func (d *driver) start() {
	e, err := d.open(d.ctx)
	d.OK(err, "open")
	d.env, d.opened = e, append(d.opened, e)
	d.batch = env.NewBatch(e.Spec())
	if spec := e.Spec(); len(spec.Actions) == 0 && len(d.texts) == 0 {
		d.texts = sayings(spec.Tools)
	}
}

// another returns a driver of the same environment, opened again. An environment with one slot is
// closed before, because it may be all that a server admits.
func (d *driver) another() *driver {
	if d.env.Spec().Slots == 1 {
		d.OK(d.env.Close(), "close")
	}
	o := &driver{Checker: d.Checker, ctx: d.ctx, open: d.open, texts: d.texts}
	o.start()
	d.opened = append(d.opened, o.env)
	return o
}

func (d *driver) closeAll() {
	for _, e := range d.opened {
		_ = e.Close() // closeTwice checks whether it can be closed
	}
}

func (d *driver) exchange() *env.Reply {
	d.OK(d.env.Exchange(d.ctx, d.batch, &d.reply), fmt.Sprintf("step %d", d.steps))
	d.shaped(&d.reply)
	return &d.reply
}

// resetAll makes the batch reset every slot.
func (d *driver) resetAll(seed uint64) {
	for i := range d.batch.Ops {
		d.batch.Ops[i], d.batch.Seeds[i] = env.Reset, seed+uint64(i)
	}
}

// only makes the batch skip every slot but one.
func (d *driver) only(slot int) {
	for i := range d.batch.Ops {
		if i != slot {
			d.batch.Ops[i] = env.Skip
		}
	}
}

// act chooses the next action of a slot: an available one that depends only on
// the step.
func (d *driver) act(slot, step int) {
	actions := len(d.env.Spec().Actions)
	if actions == 0 {
		d.batch.Texts[slot] = d.texts[step%len(d.texts)]
		return
	}
	start := step * step * 7 % 11 % actions
	mask := row(d.reply.Mask, slot, actions)
	for i := range actions {
		if a := (start + i) % actions; mask[a] == 1 {
			d.batch.Actions[slot] = int32(a)
			return
		}
	}
	d.Require(false, slotAt(slot, step), "no action is available")
}

// advance makes the batch step every running episode and reset every slot whose
// episode is over.
func (d *driver) advance() {
	d.steps++
	for i := range d.batch.Ops {
		if f := d.reply.Flags[i]; over(f) || f&env.Failed != 0 {
			d.batch.Ops[i], d.batch.Seeds[i] = env.Reset, uint64(1000*d.steps+i)
			continue
		}
		d.batch.Ops[i] = env.Step
		d.act(i, d.steps+i)
	}
}

// play plays episodes in all slots for 50 batches, and passes every reply to
// look.
func (d *driver) play(look func(r *env.Reply)) {
	d.batch.Want = both
	d.resetAll(2)
	for range 50 {
		look(d.exchange())
		d.advance()
	}
}

// walk is play, but no slot may fail.
func (d *driver) walk(look func(r *env.Reply)) {
	d.play(func(r *env.Reply) {
		for i := range d.batch.Ops {
			d.alive(r, i)
		}
		look(r)
	})
}

// alive ends the check if the slot failed. Whatever the check tests, the cause
// is an error of the author's code, and the promise's hint does not apply.
func (d *driver) alive(r *env.Reply, slot int) {
	if r.Flags[slot]&env.Failed == 0 {
		return
	}
	d.Broken(&fault.Error{
		Boundary: fault.Plugin, Kind: fault.Crashed, Where: slotAt(slot, d.steps), What: "the slot failed: " + why(r, slot),
		Hint: "fix the error, exception or panic; treat an answer that makes no sense as an invalid action",
	})
}

// frame sends the batch and copies what slot returns.
func (d *driver) frame(slot int) frame {
	r, spec := d.exchange(), d.env.Spec()
	d.alive(r, slot)
	f := frame{
		Anchor: r.Anchor[slot], Mask: slices.Clone(row(r.Mask, slot, len(spec.Actions))),
		Reward: r.Reward[slot], Flags: r.Flags[slot],
	}
	if d.batch.Want&env.WantText != 0 {
		f.Text = r.Text[slot]
	}
	if d.batch.Want&env.WantFeatures != 0 {
		f.Features = slices.Clone(row(r.Features, slot, spec.Features()))
	}
	for _, e := range r.Events {
		if e.Slot == slot {
			e.Slot = 0
			f.Events = append(f.Events, e)
		}
	}
	d.ended = over(f.Flags)
	return f
}

// episode plays an episode in the last slot and skips the other slots.
func (d *driver) episode(seed uint64, steps int) []frame {
	return d.episodeIn(d.env.Spec().Slots-1, seed, steps, false)
}

// episodeIn plays an episode in a slot. The other slots are skipped, or reset
// in every batch if busy is set.
func (d *driver) episodeIn(slot int, seed uint64, steps int, busy bool) []frame {
	d.resetAll(seed + 100)
	if !busy {
		d.only(slot)
	}
	d.batch.Ops[slot], d.batch.Seeds[slot] = env.Reset, seed
	frames := []frame{d.frame(slot)}
	for !d.ended && len(frames) <= steps {
		for i := range d.batch.Ops {
			if busy && i != slot {
				d.batch.Ops[i], d.batch.Seeds[i] = env.Reset, seed*uint64(len(frames)+i)
			}
		}
		frames = append(frames, d.step(slot, len(frames)))
	}
	return frames
}

// step steps a slot.
func (d *driver) step(slot, step int) frame {
	d.batch.Ops[slot] = env.Step
	d.act(slot, step)
	return d.frame(slot)
}

func over(f env.Flag) bool { return f&(env.Terminated|env.Truncated) != 0 }

// why returns the error message of a failed slot.
func why(r *env.Reply, slot int) string {
	for _, e := range r.Events {
		if e.Slot == slot && e.Kind == env.EventError {
			return e.Message
		}
	}
	return "it gave no reason"
}

// row returns the values of a slot in a column.
func row[T any](column []T, slot, width int) []T { return column[slot*width : (slot+1)*width] }

// sayings returns texts that an environment with free-text actions must handle:
// short answers, and a call of each tool without arguments.
func sayings(tools json.RawMessage) []string {
	said := []string{"I do not know.", "1", "yes", "Answer: 42"}
	var offered []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if strictjson.Unmarshal(tools, &offered) != nil {
		return said
	}
	for i, t := range offered {
		call := rl.ToolCall{ID: fmt.Sprintf("call-%d", i), Type: "function"}
		call.Function.Name, call.Function.Arguments = t.Function.Name, "{}"
		text, err := json.Marshal([]rl.ToolCall{call})
		if err == nil {
			said = append(said, string(text))
		}
	}
	return said
}
