package python

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
)

// encode writes the request: for a pointwise reward which messages have tool
// calls, and the arguments of its function; else the members as a list of dicts
// with the keys of Merit's files.
func (h *hello) encode(e *marshal.Encoder, members []*rl.Trajectory) error {
	if !h.whole {
		return h.arguments(e, members[0])
	}
	e.List(len(members))
	for _, t := range members {
		if err := encodeMember(e, t); err != nil {
			return err
		}
	}
	return nil
}

// promptSize is PROMPT of merit_reward.shapes: how many messages are the
// prompt's, for functions that take prompts and completions.
const promptSize = "__prompt__"

// wants reports whether the function can be called with this name.
func (h *hello) wants(name string) bool { return h.accepts[name] || h.open && !h.taken[name] }

// arguments are messages, ground_truth, metadata and every entry of the
// metadata, as far as the function takes them.
func (h *hello) arguments(e *marshal.Encoder, t *rl.Trajectory) error {
	e.Tuple(2)
	var withCalls []int
	for i := range t.Messages {
		if len(t.Messages[i].ToolCalls) > 0 {
			withCalls = append(withCalls, i)
		}
	}
	e.List(len(withCalls))
	for _, i := range withCalls {
		e.Int(int64(i))
	}
	e.Dict()
	if h.wants("messages") {
		if err := encodeMessages(e, t.Messages); err != nil {
			return err
		}
	}
	if h.wants("ground_truth") {
		e.Name("ground_truth")
		if err := encodeJSON(e, t.GroundTruth); err != nil {
			return err
		}
	}
	if err := h.metadata(e, t); err != nil {
		return err
	}
	e.End()
	return nil
}

// metadata writes the argument of that name, and those for which it has
// entries.
func (h *hello) metadata(e *marshal.Encoder, t *rl.Trajectory) error {
	if h.wants("metadata") {
		e.Name("metadata")
		if err := encodeMetadata(e, t); err != nil {
			return err
		}
	}
	if h.accepts[promptSize] && len(t.Steps) > 0 {
		e.Name(promptSize)
		e.Int(int64(t.Steps[0].MessageCount))
	}
	for _, k := range slices.Sorted(maps.Keys(t.Metadata)) {
		if !h.wants(k) || k == promptSize || k == "messages" || k == "ground_truth" || k == "metadata" {
			continue
		}
		e.Text(k)
		if err := e.JSON(t.Metadata[k]); err != nil {
			return err
		}
	}
	return nil
}

func encodeMember(e *marshal.Encoder, t *rl.Trajectory) error {
	e.Dict()
	if err := encodeMessages(e, t.Messages); err != nil {
		return err
	}
	if len(t.GroundTruth) > 0 {
		e.Name("ground_truth")
		if err := e.JSON(t.GroundTruth); err != nil {
			return err
		}
	}
	e.Name("metadata")
	if err := encodeMetadata(e, t); err != nil {
		return err
	}
	encodeRollout(e, t)
	e.End()
	return nil
}

func encodeMessages(e *marshal.Encoder, messages []rl.Message) error {
	e.Name("messages")
	e.List(len(messages))
	for i := range messages {
		if err := encodeMessage(e, &messages[i]); err != nil {
			return err
		}
	}
	return nil
}

// encodeJSON writes None for what is absent.
func encodeJSON(e *marshal.Encoder, raw json.RawMessage) error {
	if len(raw) == 0 {
		e.None()
		return nil
	}
	return e.JSON(raw)
}

func encodeMetadata(e *marshal.Encoder, t *rl.Trajectory) error {
	e.Dict()
	for _, k := range slices.Sorted(maps.Keys(t.Metadata)) {
		e.Text(k)
		if err := e.JSON(t.Metadata[k]); err != nil {
			return err
		}
	}
	e.End()
	return nil
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
		e.Name("content")
		if err := e.JSON(m.Content.Parts()); err != nil {
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
