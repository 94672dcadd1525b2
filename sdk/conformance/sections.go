package conformance

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// sections lists the metrics of the guest, in the order of the README.
var sections = []struct {
	name string
	sum  func(*rl.Trajectory) digest
}{
	{"trajectory", trajectorySum},
	{"messages", messagesSum},
	{"tool_calls", toolCallsSum},
	{"ground_truth", func(t *rl.Trajectory) digest {
		d := newDigest
		parse(t.GroundTruth).write(&d)
		return d
	}},
	{"metadata", metadataSum},
	{"steps", stepsSum},
	{"raw", rawSum},
}

// position returns i + 1 for entry i of a closed list of names, else 0.
func position[S ~string](names []S, s S) int { return slices.Index(names, s) + 1 }

func trajectorySum(t *rl.Trajectory) digest {
	d := newDigest
	count, last, answer := 0, -1, ""
	for i := range t.Messages {
		if t.Messages[i].Role == rl.RoleAssistant {
			count, last, answer = count+1, i, t.Messages[i].Content.Text()
		}
	}
	d.str(t.ID)
	d.str(t.Group)
	d.str(t.Task)
	d.num(position([]rl.StopReason{rl.StopTerminated, rl.StopTruncated, rl.StopPolicyEnded, rl.StopPattern, rl.StopError}, t.StopReason))
	d.num(count)
	d.num(last)
	d.str(answer)
	return d
}

func messagesSum(t *rl.Trajectory) digest {
	d := newDigest
	d.num(len(t.Messages))
	for i, index := range t.AssistantIndex(nil) {
		m := &t.Messages[i]
		step := -1
		for j := range t.Steps {
			if t.Steps[j].MessageCount == i {
				step = j
			}
		}
		d.num(position([]string{rl.RoleSystem, rl.RoleUser, rl.RoleAssistant, rl.RoleTool}, m.Role))
		d.num(int(index))
		d.str(m.Role)
		d.str(m.Content.Text())
		d.str(m.Name)
		d.str(m.ToolCallID)
		d.bool(m.Content.IsNull())
		d.num(step)
		d.num(len(m.ToolCalls))
	}
	return d
}

func toolCallsSum(t *rl.Trajectory) digest {
	d := newDigest
	for i := range t.Messages {
		for _, c := range t.Messages[i].ToolCalls {
			d.num(i)
			d.str(c.ID)
			d.str(c.Function.Name)
			d.str(c.Function.Arguments)
			d.str(c.Type)
		}
	}
	return d
}

func keys(t *rl.Trajectory) []string {
	list := make([]string, 0, len(t.Metadata))
	for k := range t.Metadata {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func metadataSum(t *rl.Trajectory) digest {
	d := newDigest
	d.num(len(t.Metadata))
	for _, k := range keys(t) {
		d.str(k)
		parse(t.Metadata[k]).write(&d)
	}
	return d
}

func stepsSum(t *rl.Trajectory) digest {
	d := newDigest
	d.num(len(t.Steps))
	for i := range t.Steps {
		s := &t.Steps[i]
		message := -1
		if s.MessageCount < len(t.Messages) {
			message = s.MessageCount
		}
		d.num(message)
		d.str(s.Action.Text)
		d.num(position([]rl.ActionKind{rl.ActionChoice, rl.ActionText, rl.ActionTool}, s.Action.Kind))
		d.num(s.Action.Choice)
		d.bool(s.ActionValid)
		d.float(s.EnvReward)
		d.bool(s.Terminated)
		d.bool(s.Truncated)
		d.str(s.Anchor)
		d.num(len(s.Action.ToolCalls))
	}
	return d
}

func rawSum(t *rl.Trajectory) digest {
	d := newDigest
	parse(t.GroundTruth).writeRaw(&d)
	for _, k := range keys(t) {
		parse(t.Metadata[k]).writeRaw(&d)
	}
	for i := range t.Messages {
		d.str(string(t.Messages[i].Content.Parts()))
	}
	return d
}

// value is any JSON as the ABI presents it.
type value struct {
	kind    int // 0 absent, 1 string, 2 number, 3 bool, 4 null, 5 other JSON
	json    string
	text    string
	number  float64
	boolean bool
}

func parse(raw json.RawMessage) value {
	v := value{json: string(raw), text: string(raw)}
	if len(raw) == 0 {
		return v
	}
	var s *string
	var b bool
	switch first := strings.TrimSpace(v.json)[0]; {
	case first == '[' || first == '{':
		v.kind = 5
	case bytes.Equal(bytes.TrimSpace(raw), []byte("null")):
		v.kind = 4
	case strictjson.Unmarshal(raw, &b) == nil:
		v.kind, v.boolean = 3, b
		if b {
			v.number = 1
		}
	case strictjson.Unmarshal(raw, &s) == nil:
		v.kind, v.text = 1, *s
	case strictjson.Unmarshal(raw, &v.number) == nil:
		v.kind = 2
	default:
		v.kind, v.number = 5, 0
	}
	return v
}

func (v value) write(d *digest) {
	d.num(v.kind)
	switch v.kind {
	case 1:
		d.str(v.text)
	case 2:
		d.float(v.number)
	case 3:
		d.bool(v.boolean)
	}
}

func (v value) writeRaw(d *digest) {
	d.str(v.json)
	d.str(v.text)
	d.float(v.number)
	d.bool(v.boolean)
}
