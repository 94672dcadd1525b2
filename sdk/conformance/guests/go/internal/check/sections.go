package check

import "github.com/merit-rl/merit/sdk/reward"

func (d *digests) trajectory(r *reward.Rollout) {
	h := d.sums["trajectory"]
	str(h, r.ID)
	str(h, r.Group)
	str(h, r.Task)
	u32(h, int(r.StopReason))
	u32(h, d.count)
	u32(h, d.last)
	str(h, r.Answer())
}

func (d *digests) messages(r *reward.Rollout) {
	h, calls := d.sums["messages"], d.sums["tool_calls"]
	u32(h, len(r.Messages))
	for i := range r.Messages {
		m := &r.Messages[i]
		u32(h, role(m.Role))
		u32(h, d.assistants[i])
		str(h, m.Role)
		str(h, m.Content)
		str(h, m.Name)
		str(h, m.ToolCallID)
		boolean(h, m.Null)
		u32(h, d.actions[i])
		u32(h, len(m.ToolCalls))
		for _, c := range m.ToolCalls {
			u32(calls, i)
			str(calls, c.ID)
			str(calls, c.Name)
			str(calls, c.Arguments)
			str(calls, c.Type)
		}
	}
}

// role numbers the roles as the SDKs with enumerations do.
func role(name string) int {
	switch name {
	case reward.System:
		return 1
	case reward.User:
		return 2
	case reward.Assistant:
		return 3
	case reward.Tool:
		return 4
	}
	return 0
}

func (d *digests) values(r *reward.Rollout) {
	value(d.sums["ground_truth"], &r.GroundTruth)
	raw(d.sums["raw"], &r.GroundTruth)
	meta := d.sums["metadata"]
	u32(meta, len(r.Metadata))
	for i := range r.Metadata {
		f := &r.Metadata[i]
		str(meta, f.Key)
		value(meta, &f.Value)
		raw(d.sums["raw"], &f.Value)
	}
	for i := range r.Messages {
		str(d.sums["raw"], r.Messages[i].Parts)
	}
}

func (d *digests) steps(r *reward.Rollout) {
	h := d.sums["steps"]
	u32(h, len(r.Steps))
	for i := range r.Steps {
		s := &r.Steps[i]
		u32(h, s.Message)
		str(h, s.Action)
		u32(h, int(s.ActionKind))
		u32(h, s.Choice)
		boolean(h, s.ActionValid)
		f64(h, s.Reward)
		boolean(h, s.Terminated)
		boolean(h, s.Truncated)
		str(h, s.Anchor)
		u32(h, s.ToolCalls)
	}
}
