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
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/wire/bounds"
)

// Task is the start of an episode; see Turn.Task.
type Task = rl.Task

// Turn is the result of a reset or a step. The SDK owns its memory, clears it
// before each call and reads it afterwards.
type Turn struct {
	// Anchor is the raw observation in UTF-8; append to it. Two states are the
	// same if and only if their anchors are equal.
	Anchor []byte
	// Text is the observation for a reader; append to it. If it stays empty,
	// the anchor is used.
	Text []byte
	// Features is the observation tensor, row-major in Spec.FeatureShape and
	// zeroed before the call; nil if the host does not need it. Values must be
	// finite.
	Features []float32
	// Mask has one byte per action, 1 for available. It is all 1 before the
	// call.
	Mask []byte
	// Reward is the environment's own reward. It must be finite, and 0 after a
	// reset.
	Reward float64
	// Terminated means that the episode reached an end state.
	Terminated bool
	// Truncated means that the environment cut the episode short.
	Truncated bool
	// InvalidAction means that the action was understood but had no legal
	// effect.
	InvalidAction bool

	slot   int
	events []env.Event // of the whole batch
	before int         // how many of them belong to other slots
}

// Tool reports the answer of a tool. It becomes a tool message of the
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

// Metric reports a number about the episode, such as how much longer it was
// than the shortest way. Evaluations average it over the episodes that report
// it. If a name is reported several times, the last value counts. name consists
// of 1 to 64 letters, digits and _; value must be finite.
func (t *Turn) Metric(name string, value float64) {
	raw, err := json.Marshal(value)
	if err != nil { // not finite: check reports it
		raw = []byte(strconv.FormatFloat(value, 'g', -1, 64))
	}
	t.events = append(t.events, env.Event{Slot: t.slot, Kind: env.EventMetric, Name: name, Message: string(raw)})
}

// Task sets, in Reset, the task that the episode starts from. The messages of
// the task, if any, replace Text in the conversation. They follow Spec.System,
// unless they begin with a system message themselves. If Text is empty, Task
// sets it to the text of the last message. Rewards receive the ground truth and
// the metadata of the task. Its id, which is optional, names the start in the
// output.
func (t *Turn) Task(task *Task) error {
	raw, err := json.Marshal(task)
	if err != nil {
		return err
	}
	if len(raw) > bounds.MaxText {
		return fmt.Errorf("the task has %d bytes as JSON, more than the limit of %d", len(raw), bounds.MaxText)
	}
	if n := len(task.Messages); n > 0 && len(t.Text) == 0 {
		t.Text = append(t.Text, task.Messages[n-1].Content.Text()...)
	}
	t.events = append(t.events, env.Event{Slot: t.slot, Kind: env.EventTask, Message: string(raw)})
	return nil
}

// Refuse returns the error for a recorded call that is not one of the environment's; see
// Encoder. why is a few words that many calls share, such as "the text is not a board":
// Merit counts the calls by it.
func (t *Turn) Refuse(why string) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Refused, What: why}
}

// encoded returns an error if the turn is not the observation of a call.
func (t *Turn) encoded(action int) error {
	switch {
	case len(t.Anchor) == 0:
		return errors.New("Encode set no anchor; return turn.Refuse for a call of another environment")
	case action < -1 || action >= len(t.Mask):
		return fmt.Errorf("Encode returned action %d, but the environment has %d; −1 means that Merit looks for its name", action, len(t.Mask))
	}
	for i, v := range t.Features {
		if v-v != 0 {
			return fmt.Errorf("feature %d is %v, not a finite number", i, v)
		}
	}
	return t.check(env.Reset)
}

// shown returns the text for a reader.
func (t *Turn) shown() []byte {
	if len(t.Text) == 0 {
		return t.Anchor
	}
	return t.Text
}

// check returns an error for anything for which the host would kill the whole
// plug-in. At this point, only the slot fails.
func (t *Turn) check(op env.Op) error {
	switch {
	case math.IsNaN(t.Reward) || math.IsInf(t.Reward, 0):
		return fmt.Errorf("the reward is %v, not a finite number", t.Reward)
	case op == env.Reset && t.Reward != 0:
		return fmt.Errorf("the reward is %v right after a reset; it must be 0", t.Reward)
	case len(t.Anchor) > bounds.MaxText || len(t.Text) > bounds.MaxText:
		return fmt.Errorf("the anchor has %d bytes and the text %d; the limit for each is %d", len(t.Anchor), len(t.Text), bounds.MaxText)
	case !utf8.Valid(t.Anchor) || !utf8.Valid(t.Text):
		return errors.New("the anchor or the text is not UTF-8")
	case len(t.events)-t.before > bounds.MaxEvents:
		return fmt.Errorf("%d tool results, infos and metrics in one turn, more than the limit of %d", len(t.events)-t.before, bounds.MaxEvents)
	case op != env.Reset && slices.ContainsFunc(t.events[t.before:], func(e env.Event) bool { return e.Kind == env.EventTask }):
		return errors.New("the slot set a task in the middle of an episode; set it in Reset")
	case len(t.Mask) > 0 && !t.Terminated && !t.Truncated && bytes.IndexByte(t.Mask, 1) < 0:
		return errors.New("the episode continues but no action is available")
	}
	for _, e := range t.events[t.before:] {
		if e.Kind == env.EventInfo && len(e.Message) > bounds.MaxAttached { // a truncated message would not be JSON
			return fmt.Errorf("the info %q has %d bytes as JSON, more than the limit of %d", e.Name, len(e.Message), bounds.MaxAttached)
		}
		if e.Kind == env.EventMetric {
			if err := bounds.CheckMetric(e.Name, e.Message); err != nil {
				return err
			}
		}
	}
	return nil
}

// flags packs the three booleans into a flag.
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
