package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/wire"
)

// Task is what an episode starts from: see Turn.Task.
type Task = rl.Task

// Turn is what a slot says after a reset or a step. The SDK owns its memory,
// clears it before each call and reads it afterwards.
type Turn struct {
	// Anchor is the raw observation in UTF-8, to be appended to: two states
	// are the same if and only if their anchors are equal.
	Anchor []byte
	// Text is what a reader would see, to be appended to. If it stays empty,
	// it is the anchor.
	Text []byte
	// Features is the observation tensor, row-major in Spec.FeatureShape, all
	// 0 at first; nil when the host does not want it. Finite values only.
	Features []float32
	// Mask has one byte per action, all 1 (available) at first.
	Mask []byte
	// Reward is the environment's own reward; finite, 0 after a reset.
	Reward float64
	// Terminated says that the episode reached an end state.
	Terminated bool
	// Truncated says that the environment cut the episode.
	Truncated bool
	// InvalidAction says that the action was understood but had no legal
	// effect.
	InvalidAction bool

	slot   int
	events []env.Event // of the whole batch
	before int         // how many are of other slots
}

// Tool reports what a tool answered; it becomes a tool message of the
// conversation.
func (t *Turn) Tool(name, content string) {
	t.events = append(t.events, env.Event{Slot: t.slot, Kind: env.EventToolResult, Name: name, Message: content})
}

// Info attaches a JSON value to the step, of at most 8 MiB.
func (t *Turn) Info(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	t.events = append(t.events, env.Event{Slot: t.slot, Kind: env.EventInfo, Name: key, Message: string(raw)})
	return nil
}

// Metric says a number about the episode that people want to know, such as how
// much longer it was than the shortest way: evaluations average it over the
// episodes that have it. The last value of a name counts. Name is of letters,
// digits and _; value is finite.
func (t *Turn) Metric(name string, value float64) {
	raw, err := json.Marshal(value)
	if err != nil { // not finite: check says so
		raw = []byte(strconv.FormatFloat(value, 'g', -1, 64))
	}
	t.events = append(t.events, env.Event{Slot: t.slot, Kind: env.EventMetric, Name: name, Message: string(raw)})
}

// Task says in Reset what the episode starts from. Its messages, if it has any,
// stand in the conversation in the place of Text, behind Spec.System unless
// they begin with a system message themselves; Text is by default that of the
// last. Its ground truth and its metadata reach the rewards, its id (optional)
// names the start in what is written.
func (t *Turn) Task(task *Task) error {
	raw, err := json.Marshal(task)
	if err != nil {
		return err
	}
	if len(raw) > wire.MaxText {
		return fmt.Errorf("the task has %d bytes as JSON, at most %d", len(raw), wire.MaxText)
	}
	if n := len(task.Messages); n > 0 && len(t.Text) == 0 {
		t.Text = append(t.Text, task.Messages[n-1].Content.Text()...)
	}
	t.events = append(t.events, env.Event{Slot: t.slot, Kind: env.EventTask, Message: string(raw)})
	return nil
}

// shown is what a reader sees.
func (t *Turn) shown() []byte {
	if len(t.Text) == 0 {
		return t.Anchor
	}
	return t.Text
}

// check finds what the host would kill the whole plug-in for, while it costs
// only the slot.
func (t *Turn) check(op env.Op) error {
	switch {
	case math.IsNaN(t.Reward) || math.IsInf(t.Reward, 0):
		return fmt.Errorf("reward is %v", t.Reward)
	case op == env.Reset && t.Reward != 0:
		return fmt.Errorf("reward %v right after a reset", t.Reward)
	case len(t.Anchor) > wire.MaxText || len(t.Text) > wire.MaxText:
		return fmt.Errorf("anchor of %d bytes and text of %d: each has at most %d", len(t.Anchor), len(t.Text), wire.MaxText)
	case !utf8.Valid(t.Anchor) || !utf8.Valid(t.Text):
		return errors.New("anchor or text is not UTF-8")
	case len(t.events)-t.before > wire.MaxEvents:
		return fmt.Errorf("%d tool results, infos and metrics in one turn, more than %d", len(t.events)-t.before, wire.MaxEvents)
	case op != env.Reset && slices.ContainsFunc(t.events[t.before:], func(e env.Event) bool { return e.Kind == env.EventTask }):
		return errors.New("a task in the middle of an episode: it belongs into Reset")
	case len(t.Mask) > 0 && !t.Terminated && !t.Truncated && bytes.IndexByte(t.Mask, 1) < 0:
		return errors.New("the episode goes on but no action is available")
	}
	for _, e := range t.events[t.before:] {
		if e.Kind == env.EventInfo && len(e.Message) > wire.MaxAttached { // cut, it would be no JSON
			return fmt.Errorf("the info %q has %d bytes as JSON, at most %d", e.Name, len(e.Message), wire.MaxAttached)
		}
		if e.Kind == env.EventMetric {
			if err := wire.CheckMetric(e.Name, e.Message); err != nil {
				return err
			}
		}
	}
	return nil
}

// flags packs the three booleans.
func (t *Turn) flags() env.Flag {
	var f env.Flag
	if t.Terminated {
		f |= env.Terminated
	}
	if t.Truncated {
		f |= env.Truncated
	}
	if t.InvalidAction {
		f |= env.InvalidAction
	}
	return f
}
