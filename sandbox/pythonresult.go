package sandbox

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
)

// Statuses of a member's result in merit_reward.runner.
const (
	pythonScored = iota
	pythonInvalid
	pythonError
	pythonNoMemory
)

// take checks the result of the present member: status, score, reason, metrics
// and steps, as merit_reward.runner.take writes them.
func (s *pythonSession) take(v *marshal.Value) *verdict {
	c := s.collector
	if !shaped(v, marshal.Int, marshal.Float, marshal.Text, marshal.List, marshal.List) {
		return violation("the interpreter gave a result of a wrong form")
	}
	status, score, reason, metrics, steps := v.Items[0].Int, v.Items[1].Float, v.Items[2].Text, v.Items[3].Items, v.Items[4].Items
	switch {
	case status == pythonNoMemory && s.instance.MemoryDenied():
		return s.noMemory(escape(string(reason)))
	case status >= pythonError:
		return asVerdict(c.setError(reason))
	}
	for i := range metrics {
		if verdict := c.pythonMetric(-1, &metrics[i]); verdict != nil {
			return verdict
		}
	}
	for i := range steps {
		if verdict := c.pythonStep(&steps[i]); verdict != nil {
			return verdict
		}
	}
	if err := c.setReason(reason); err != nil || status == pythonInvalid {
		return asVerdict(err)
	}
	return asVerdict(c.setScore(score))
}

func (c *collector) pythonStep(v *marshal.Value) *verdict {
	if !shaped(v, marshal.Int, marshal.Float, marshal.Text, marshal.List) {
		return violation("the interpreter gave a step of a wrong form")
	}
	index := v.Items[0].Int
	if int64(int32(index)) != index {
		return violation("step %d is out of range", index)
	}
	if err := c.setStep(int32(index), v.Items[1].Float); err != nil {
		return asVerdict(err)
	}
	if err := c.stepReason(int32(index), v.Items[2].Text); err != nil {
		return asVerdict(err)
	}
	for i := range v.Items[3].Items {
		if verdict := c.pythonMetric(int(index), &v.Items[3].Items[i]); verdict != nil {
			return verdict
		}
	}
	return nil
}

func (c *collector) pythonMetric(step int, v *marshal.Value) *verdict {
	if !shaped(v, marshal.Text, marshal.Float, marshal.Bool, marshal.Text) {
		return violation("the interpreter gave a metric of a wrong form")
	}
	return asVerdict(c.metricResult(step, rl.Metric{
		Name: string(v.Items[0].Text), Score: v.Items[1].Float, IsScoreValid: v.Items[2].Bool, Reason: string(v.Items[3].Text),
	}))
}

// shaped reports whether v is a list of items of these kinds.
func shaped(v *marshal.Value, kinds ...marshal.Kind) bool {
	if v.Kind != marshal.List || len(v.Items) != len(kinds) {
		return false
	}
	for i, k := range kinds {
		if v.Items[i].Kind != k {
			return false
		}
	}
	return true
}

// encodePython writes the members as a list of dicts with the keys of Merit's
// files; group, task and steps only where the reward wants the whole rollout.
func encodePython(e *marshal.Encoder, members []*rl.Trajectory, whole bool) error {
	e.List(len(members))
	for _, t := range members {
		if err := encodeMember(e, t, whole); err != nil {
			return err
		}
	}
	return nil
}

func encodeMember(e *marshal.Encoder, t *rl.Trajectory, whole bool) error {
	e.Dict()
	e.Name("messages")
	e.List(len(t.Messages))
	for i := range t.Messages {
		if err := encodeMessage(e, &t.Messages[i]); err != nil {
			return err
		}
	}
	if len(t.GroundTruth) > 0 {
		if err := encodeField(e, "ground_truth", t.GroundTruth); err != nil {
			return err
		}
	}
	if len(t.Metadata) > 0 {
		e.Name("metadata")
		e.Dict()
		for _, k := range slices.Sorted(maps.Keys(t.Metadata)) {
			e.Text(k)
			if err := e.JSON(t.Metadata[k]); err != nil {
				return err
			}
		}
		e.End()
	}
	if whole {
		encodeRollout(e, t)
	}
	e.End()
	return nil
}

func encodeField(e *marshal.Encoder, key string, raw json.RawMessage) error {
	e.Name(key)
	return e.JSON(raw)
}

func encodeMessage(e *marshal.Encoder, m *rl.Message) error {
	e.Dict()
	e.Name("role")
	e.Text(m.Role)
	switch {
	case m.Content.IsNull():
		e.Name("content")
		e.None()
	case m.Content.Parts() != nil:
		if err := encodeField(e, "content", m.Content.Parts()); err != nil {
			return err
		}
	default:
		encodeText(e, "content", m.Content.Text())
	}
	if m.Name != "" {
		encodeText(e, "name", m.Name)
	}
	if m.ToolCallID != "" {
		encodeText(e, "tool_call_id", m.ToolCallID)
	}
	if len(m.ToolCalls) > 0 {
		e.Name("tool_calls")
		encodeCalls(e, m.ToolCalls)
	}
	e.End()
	return nil
}

func encodeText(e *marshal.Encoder, key, v string) {
	e.Name(key)
	e.Text(v)
}

func encodeCalls(e *marshal.Encoder, calls []rl.ToolCall) {
	e.List(len(calls))
	for i := range calls {
		e.Dict()
		encodeText(e, "id", calls[i].ID)
		encodeText(e, "type", calls[i].Type)
		e.Name("function")
		e.Dict()
		encodeText(e, "name", calls[i].Function.Name)
		encodeText(e, "arguments", calls[i].Function.Arguments)
		e.End()
		e.End()
	}
}

// encodeRollout adds what a reward sees of the environment.
func encodeRollout(e *marshal.Encoder, t *rl.Trajectory) {
	encodeText(e, "id", t.ID)
	encodeText(e, "group", t.Group)
	encodeText(e, "task", t.Task)
	encodeText(e, "stop_reason", string(t.StopReason))
	e.Name("steps")
	e.List(len(t.Steps))
	for i := range t.Steps {
		s := &t.Steps[i]
		e.Dict()
		for _, n := range [...]struct {
			key   string
			value int
		}{{"index", s.Index}, {"message_count", s.MessageCount}} {
			e.Name(n.key)
			e.Int(int64(n.value))
		}
		encodeText(e, "anchor", s.Anchor)
		e.Name("env_reward")
		e.Float(s.EnvReward)
		for _, b := range [...]struct {
			key   string
			value bool
		}{{"action_valid", s.ActionValid}, {"terminated", s.Terminated}, {"truncated", s.Truncated}} {
			e.Name(b.key)
			e.Bool(b.value)
		}
		e.Name("action")
		e.Dict()
		encodeText(e, "kind", string(s.Action.Kind))
		e.Name("choice")
		e.Int(int64(s.Action.Choice))
		encodeText(e, "text", s.Action.Text)
		e.Name("tool_calls")
		encodeCalls(e, s.Action.ToolCalls)
		e.End()
		e.End()
	}
}

var _ describer = (*pythonSession)(nil)
