package rl

import "encoding/json"

// Column returns the JSON of a column of the row that t was made of, and whether
// the row has it: one of Own or of Metadata, or one that a field of t holds.
func (t *Trajectory) Column(name string) (json.RawMessage, bool) {
	if value, ok := t.Own[name]; ok {
		return value, true
	}
	if value, ok := t.Metadata[name]; ok {
		return value, true
	}
	switch name {
	case "id":
		return named(t.ID, t.Unnamed)
	case "group":
		return named(t.Group, t.Ungrouped)
	case "task":
		return named(t.Task, false)
	case "branch_of":
		return named(t.BranchOf, false)
	case "branch_at":
		return told(t.BranchAt, t.BranchOf != "")
	case "error":
		return named(t.Error, false)
	case "outcome":
		return named(t.Outcome, false)
	case "stop_reason":
		return named(string(t.StopReason), false)
	case "prompt_messages":
		n, said := t.Boundary()
		return told(n, said)
	case "seed":
		return told(t.Seed, t.Seed != 0)
	case "steps":
		return told(t.Steps, t.Steps != nil)
	case "env_metrics":
		return told(t.Metrics, t.Metrics != nil)
	case "evaluation":
		return told(t.Evaluation, t.Evaluation != nil)
	}
	return nil, false
}

func named(text string, made bool) (json.RawMessage, bool) {
	if text == "" || made {
		return nil, false
	}
	return appendText(nil, text), true
}

// told returns the JSON of a field that exists and can be written.
func told(field any, there bool) (json.RawMessage, bool) {
	if !there {
		return nil, false
	}
	text, err := json.Marshal(field)
	return text, err == nil
}
