package envtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
)

// driver plays episodes with actions that depend on the step alone.
type driver struct {
	t     *testing.T
	open  func(testing.TB) env.Env
	env   env.Env
	texts []string
	batch *env.Batch
	reply env.Reply
	steps int
	ended bool // the last frame ended its episode
}

// frame is all that a slot said at once, copied.
type frame struct {
	Anchor, Text string
	Features     []float32
	Mask         []byte
	Reward       float64
	Flags        env.Flag
	Events       []env.Event
}

func (d *driver) another() *driver {
	e := d.open(d.t)
	d.t.Cleanup(func() { _ = e.Close() })
	return &driver{t: d.t, open: d.open, env: e, texts: d.texts, batch: env.NewBatch(e.Spec())}
}

func (d *driver) exchange() *env.Reply {
	d.t.Helper()
	require.NoError(d.t, d.env.Exchange(d.t.Context(), d.batch, &d.reply))
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

// act gives a slot its next action: of those available, one that the step
// alone determines.
func (d *driver) act(slot, step int) {
	actions := len(d.env.Spec().Actions)
	if actions == 0 {
		require.NotEmpty(d.t, d.texts, "the actions are free text: give envtest.Run some")
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
	d.t.Fatalf("slot %d has no action", slot)
}

// advance makes the batch step what goes on and reset what is over.
func (d *driver) advance() {
	d.steps++
	for i := range d.batch.Ops {
		if over(d.reply.Flags[i]) {
			d.batch.Ops[i], d.batch.Seeds[i] = env.Reset, uint64(1000*d.steps+i)
			continue
		}
		d.batch.Ops[i] = env.Step
		d.act(i, d.steps+i)
	}
}

// frame sends the batch and copies what slot says.
func (d *driver) frame(slot int) frame {
	d.t.Helper()
	r, spec := d.exchange(), d.env.Spec()
	require.Zero(d.t, r.Flags[slot]&env.Failed, "slot %d failed: %v", slot, r.Events)
	f := frame{
		Anchor: r.Anchor[slot], Mask: append([]byte(nil), row(r.Mask, slot, len(spec.Actions))...),
		Reward: r.Reward[slot], Flags: r.Flags[slot],
	}
	if d.batch.Want&env.WantText != 0 {
		f.Text = r.Text[slot]
	}
	if d.batch.Want&env.WantFeatures != 0 {
		f.Features = append([]float32(nil), row(r.Features, slot, spec.Features())...)
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

// episode plays one in the last slot, its neighbours skipped.
func (d *driver) episode(seed uint64, steps int) []frame {
	d.t.Helper()
	return d.episodeIn(d.env.Spec().Slots-1, seed, steps, false)
}

// episodeIn plays one in a slot; its neighbours are skipped or busy with
// resets.
func (d *driver) episodeIn(slot int, seed uint64, steps int, busy bool) []frame {
	d.t.Helper()
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
		d.batch.Ops[slot] = env.Step
		d.act(slot, len(frames))
		frames = append(frames, d.frame(slot))
	}
	return frames
}

func over(f env.Flag) bool { return f&(env.Terminated|env.Truncated) != 0 }

// row returns the values of a slot in a column.
func row[T any](column []T, slot, width int) []T { return column[slot*width : (slot+1)*width] }

func distinct(names []string) map[string]bool {
	set := make(map[string]bool)
	for _, n := range names {
		set[n] = true
	}
	return set
}
