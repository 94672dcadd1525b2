package envcontract

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

func specStays(d *driver) {
	before := d.env.Spec()
	d.Require(before.Name != "" && before.Version != "", "spec", "has no name or no version")
	d.Require(before.Slots > 0, "spec", "has %d slots", before.Slots)
	d.Require(before.MaxSteps >= 0, "spec", "has a limit of %d steps", before.MaxSteps)
	seen := map[string]bool{}
	for i, name := range before.Actions {
		d.Require(name != "" && !seen[name], "spec", "action %d has the name %q, which is empty or repeated", i, name)
		seen[name] = true
	}
	for i, size := range before.FeatureShape {
		d.Require(size > 0, "spec", "dimension %d of the features has size %d", i, size)
	}
	d.resetAll(1)
	d.exchange()
	d.Same(before, d.env.Spec(), "spec", "changed after a reset")
}

func columnsFit(d *driver) { d.play(func(*env.Reply) {}) }

func slotsLive(d *driver) { d.walk(func(*env.Reply) {}) }

// shaped holds the columns of a reply to the batch and the spec: no check reads
// beyond them.
func (d *driver) shaped(r *env.Reply) {
	spec := d.env.Spec()
	n := spec.Slots
	for _, c := range []struct {
		name      string
		got, want int
		asked     bool
	}{
		{"Anchor", len(r.Anchor), n, true}, {"Mask", len(r.Mask), n * len(spec.Actions), true},
		{"Reward", len(r.Reward), n, true}, {"Flags", len(r.Flags), n, true},
		{"Text", len(r.Text), n, d.batch.Want&env.WantText != 0},
		{"Features", len(r.Features), n * spec.Features(), d.batch.Want&env.WantFeatures != 0},
	} {
		d.Require(c.got == c.want || !c.asked, "Reply."+c.name, "has %d values, not %d as the spec declares", c.got, c.want)
	}
}

func numbersFinite(d *driver) {
	width := d.env.Spec().Features()
	d.walk(func(r *env.Reply) {
		for i, v := range r.Features {
			d.Require(!math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0), slotAt(i/width, d.steps), "feature %d is %v", i%width, v)
		}
		for i, v := range r.Reward {
			d.Require(!math.IsNaN(v) && !math.IsInf(v, 0), slotAt(i, d.steps), "the reward is %v", v)
			d.Require(v == 0 || d.batch.Ops[i] != env.Reset, slotAt(i, d.steps), "the reward is %v right after a reset", v)
		}
	})
}

func textsSane(d *driver) {
	d.walk(func(r *env.Reply) {
		for i, anchor := range r.Anchor {
			d.Require(anchor != "", slotAt(i, d.steps), "the anchor is empty")
			d.Require(utf8.ValidString(anchor), slotAt(i, d.steps), "the anchor is not UTF-8")
			d.Require(utf8.ValidString(r.Text[i]), slotAt(i, d.steps), "the text is not UTF-8")
		}
	})
}

func masksSane(d *driver) {
	actions := len(d.env.Spec().Actions)
	if actions == 0 {
		d.Skip("actions are free text")
	}
	d.walk(func(r *env.Reply) {
		for i := range r.Flags {
			available := 0
			for a, v := range row(r.Mask, i, actions) {
				d.Require(v <= 1, slotAt(i, d.steps), "the mask has %d at action %d, neither 0 nor 1", v, a)
				available += int(v)
			}
			d.Require(available > 0 || over(r.Flags[i]), slotAt(i, d.steps), "the episode continues but no action is available")
		}
	})
}

func endsApart(d *driver) {
	ends := 0
	apart := func(f env.Flag, slot, step int) {
		d.Require(f&env.Terminated == 0 || f&env.Truncated == 0, slotAt(slot, step), "the episode is both terminated and truncated")
		if over(f) {
			ends++
		}
	}
	d.walk(func(r *env.Reply) {
		for i, f := range r.Flags {
			apart(f, i, d.steps)
		}
	})
	if ends > 0 {
		return
	}
	limit := longest(d.env.Spec())
	frames := d.episode(7, limit) // longer than the walk: play one episode to its end
	apart(frames[len(frames)-1].Flags, d.env.Spec().Slots-1, len(frames)-1)
	if ends == 0 {
		d.Skip(fmt.Sprintf("no episode ended within %d steps", limit))
	}
}

// longest returns the number of steps within which an episode must end.
func longest(spec env.Spec) int {
	if spec.MaxSteps == 0 {
		return 200 // some episodes may not end; those that do can be reset
	}
	return spec.MaxSteps
}

func episodesEnd(d *driver) {
	spec := d.env.Spec()
	limit := longest(spec)
	seeds := uint64(20)
	if limit > 1000 {
		seeds = 2
	}
	d.only(0)
	for seed := range seeds {
		d.batch.Ops[0], d.batch.Seeds[0] = env.Reset, seed
		d.frame(0)
		steps := 0
		for ; !d.ended && steps < limit; steps++ {
			d.step(0, steps)
		}
		d.Require(d.ended || spec.MaxSteps == 0, "slot 0", "the episode of seed %d has not ended after %d steps, the limit of the spec", seed, steps)
	}
}

func eventsSane(d *driver) {
	d.walk(func(r *env.Reply) {
		for _, e := range r.Events {
			d.Require(e.Slot >= 0 && e.Slot < len(r.Flags), "Reply.Events", "an event belongs to slot %d, but there are %d slots", e.Slot, len(r.Flags))
			at, reset := slotAt(e.Slot, d.steps), d.batch.Ops[e.Slot] == env.Reset
			d.Require(utf8.ValidString(e.Name) && utf8.ValidString(e.Message), at, "a message of kind %q is not UTF-8", e.Kind)
			switch e.Kind {
			case env.EventInfo:
				d.Require(e.Name != "" && json.Valid([]byte(e.Message)), at, "the info %q is not JSON or has no name", e.Name)
			case env.EventMetric:
				var v float64
				d.Require(e.Name != "" && strictjson.Unmarshal([]byte(e.Message), &v) == nil, at, "the metric %q is not a number: %.40s", e.Name, e.Message)
			case env.EventTask:
				_, err := rl.DecodeTask([]byte(e.Message))
				d.OK(err, at)
				d.Require(reset, at, "a task was set in the middle of an episode")
			default:
				d.Require(e.Kind == env.EventError || e.Kind == env.EventToolResult, at, "a message has the unknown kind %q", e.Kind)
			}
		}
	})
}

func sameSeedSameEpisode(d *driver) {
	d.batch.Want = both
	first := d.episode(7, 60)
	d.Same(first, d.episode(7, 60), "seed 7", "when played again in the same environment, frame")
	other := d.another()
	other.batch.Want = both
	d.Same(first, other.episode(7, 60), "seed 7", "when played in another process or environment, frame")
	for seed := range uint64(12) {
		if again := other.episode(seed+8, 60); len(again) != len(first) || again[0].Anchor != first[0].Anchor || again[0].Text != first[0].Text {
			return
		}
	}
	d.Require(false, "seeds 7 to 19", "all episodes begin with the same observation and have the same length: the environment seems to ignore the seed")
}

func slotsIndependent(d *driver) {
	last := d.env.Spec().Slots - 1
	if last == 0 {
		d.Skip("the environment was opened with one slot")
	}
	d.batch.Want = both
	alone := d.episodeIn(last, 11, 40, false)
	d.Same(alone, d.episodeIn(last, 11, 40, true), "the last slot", "while other slots are busy, frame")
	d.Same(alone, d.episodeIn(0, 11, 40, true), "the first slot", "with the same seed in another slot, frame")
}

func skippedSlotWaits(d *driver) {
	slot := d.env.Spec().Slots - 1
	d.only(slot)
	play := func(pause bool) []frame {
		d.batch.Ops[slot], d.batch.Seeds[slot] = env.Reset, 5
		frames := []frame{d.frame(slot)}
		for range 10 {
			if d.ended {
				break
			}
			d.act(slot, len(frames)) // before the skip, because the mask of a skipped slot is undefined
			if pause {
				d.batch.Ops[slot] = env.Skip
				d.exchange()
			}
			d.batch.Ops[slot] = env.Step
			frames = append(frames, d.frame(slot))
		}
		return frames
	}
	d.Same(play(false), play(true), "the last slot", "after batches that skip it, frame")
}

func wantIsHeeded(d *driver) {
	features := d.env.Spec().Features() > 0
	for _, want := range []env.Want{0, env.WantText, env.WantFeatures, both} {
		d.batch.Want = want
		d.resetAll(3)
		r := d.exchange()
		d.Require((want&env.WantText != 0) == (len(r.Text) > 0), "Reply.Text", "has %d rows in a batch that wants %b (1 text, 10 features)", len(r.Text), want)
		d.Require((want&env.WantFeatures != 0 && features) == (len(r.Features) > 0), "Reply.Features", "has %d values in a batch that wants %b", len(r.Features), want)
	}
}
