// Package check reads every field of a rollout through the guest SDK and
// reports a digest of each section, as sdk/conformance/README.md describes. It
// imports sdk/reward only.
package check

import (
	"encoding/binary"
	"errors"
	"hash"
	"hash/fnv"
	"math"

	"github.com/merit-rl/merit/sdk/reward"
)

// Rollout returns the result that the conformance cases expect.
func Rollout(r *reward.Rollout) reward.Result {
	switch r.Meta("conformance").Text {
	case "invalid":
		return reward.Invalid("invalid as asked")
	case "error":
		return reward.Error(errors.New("error as asked"))
	}
	d := newDigests(r)
	d.trajectory(r)
	d.messages(r)
	d.values(r)
	d.steps(r)
	result := reward.Score(float64(len(r.Messages)))
	result.Reason = r.ID
	for _, name := range sections {
		result.Metrics = append(result.Metrics, reward.Metric{Name: name, Value: float64(d.sums[name].Sum32())})
	}
	for i, m := range r.Assistants() {
		step := reward.StepReward{Index: i, Reward: float64(len(m.Content))}
		step.Metrics = []reward.Metric{{Name: "tool_calls", Value: float64(len(m.ToolCalls))}}
		if len(m.ToolCalls) > 0 {
			step.Reason = m.ToolCalls[0].Name
		}
		result.Steps = append(result.Steps, step)
	}
	return result
}

var sections = []string{"trajectory", "messages", "tool_calls", "ground_truth", "metadata", "raw", "steps"}

// digests holds one sum a section, and what the messages' rows say but the SDK
// leaves to derive.
type digests struct {
	sums       map[string]hash.Hash32
	assistants []int // per message: its index among the assistant messages, or −1
	actions    []int // per message: the step whose action it is, or −1
	count      int
	last       int
}

func newDigests(r *reward.Rollout) *digests {
	d := &digests{sums: map[string]hash.Hash32{}, last: -1}
	for _, name := range sections {
		d.sums[name] = fnv.New32a()
	}
	next := 0
	for i := range r.Messages {
		index := -1
		if r.Messages[i].Role == reward.Assistant {
			d.last = i
			d.count++
		}
		if i >= r.PromptMessages && r.Messages[i].Role == reward.Assistant {
			index = next
			next++
		}
		d.assistants, d.actions = append(d.assistants, index), append(d.actions, -1)
	}
	for i := range r.Steps {
		if m := r.Steps[i].Message; m >= 0 {
			d.actions[m] = i
		}
	}
	return d
}

func u32(h hash.Hash32, n int) {
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func f64(h hash.Hash32, f float64) {
	h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

func str(h hash.Hash32, s string) {
	u32(h, len(s))
	h.Write([]byte(s))
}

func boolean(h hash.Hash32, b bool) {
	if b {
		u32(h, 1)
	} else {
		u32(h, 0)
	}
}

func value(h hash.Hash32, v *reward.Value) {
	u32(h, int(v.Kind))
	switch v.Kind {
	case reward.String:
		str(h, v.Text)
	case reward.Number:
		f64(h, v.Number)
	case reward.Bool:
		boolean(h, v.Bool)
	}
}

func raw(h hash.Hash32, v *reward.Value) {
	str(h, v.JSON)
	str(h, v.Text)
	f64(h, v.Number)
	boolean(h, v.Bool)
}
