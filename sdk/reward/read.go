package reward

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"github.com/merit-rl/merit/sdk/reward/layout"
)

// errBuffer means that a buffer is malformed; a host never sends such a buffer.
var errBuffer = errors.New("reward: the buffer does not follow the flat layout, version 1")

// Decode reads a buffer of the flat ABI (see sandbox/abi). Strings point into
// buf. The module decodes every input in this way; Decode is exported for tests
// and tools.
func Decode(buf []byte) (*Rollout, error) {
	d := decoder{rollout: new(Rollout)}
	if !d.decode(buf) {
		return nil, errBuffer
	}
	return d.rollout, nil
}

// DecodeGroup reads a group buffer of the flat ABI.
func DecodeGroup(buf []byte) ([]*Rollout, error) {
	g := groupDecoder{}
	if !g.decode(buf) {
		return nil, errBuffer
	}
	return g.rollouts, nil
}

// decoder reads buffers into one Rollout and reuses its slices. After the first
// bad reference, all reads return zero values.
type decoder struct {
	buf     []byte
	bad     bool
	rollout *Rollout
	calls   []ToolCall
	fields  []Field // of all messages
}

func (d *decoder) decode(buf []byte) bool {
	d.buf, d.bad = buf, false
	if !d.header() || d.u32(layout.HeaderFlags)&layout.FlagGroup != 0 {
		return false
	}
	r := d.rollout
	r.ID, r.Group, r.Task = d.str(layout.HeaderID), d.str(layout.HeaderGroup), d.str(layout.HeaderTask)
	r.StopReason = StopReason(d.u32(layout.HeaderStopReason))
	r.GroundTruth = d.value(layout.HeaderGroundTruth)
	d.toolCalls()
	d.prompt()
	d.messages()
	d.metadata()
	d.steps()
	return !d.bad
}

func (d *decoder) header() bool {
	return len(d.buf) >= layout.FirstHeaderSize && d.u32(0) == layout.Magic && d.u32(layout.HeaderVersion) == layout.Version &&
		d.u32(layout.HeaderHeaderSize) >= layout.FirstHeaderSize && d.u32(layout.HeaderTotalSize) == len(d.buf)
}

func (d *decoder) toolCalls() {
	t := d.table(layout.HeaderToolCalls, layout.ToolCallSize)
	d.calls = resize(d.calls, t.count)
	for i := range d.calls {
		row := (*[layout.ToolCallSize]byte)(d.buf[t.row(i):])
		c := &d.calls[i]
		c.ID = d.text(word(row[layout.ToolCallID:]))
		c.Name = d.text(word(row[layout.ToolCallName:]))
		c.Arguments = d.text(word(row[layout.ToolCallArguments:]))
		c.Type = d.text(word(row[layout.ToolCallType:]))
	}
}

// prompt reads the prompt and the fields of messages, which newer hosts write.
func (d *decoder) prompt() {
	r := d.rollout
	r.PromptMessages, r.PromptText, r.CompletionText, d.fields = -1, false, false, d.fields[:0]
	if d.u32(layout.HeaderHeaderSize) < layout.HeaderSize || len(d.buf) < layout.HeaderSize {
		return
	}
	r.PromptMessages = int(int32(d.u32(layout.HeaderPromptMessages)))
	texts := d.u32(layout.HeaderAsText)
	r.PromptText, r.CompletionText = texts&1 != 0, texts&2 != 0
	t := d.table(layout.HeaderFields, layout.FieldSize)
	d.fields = resize(d.fields, t.count)
	for i := range d.fields {
		at := t.row(i)
		d.fields[i] = Field{Key: d.str(at + layout.FieldKey), Value: d.value(at + layout.FieldValue)}
	}
}

func (d *decoder) messages() {
	t := d.table(layout.HeaderMessages, layout.FirstMessageSize)
	d.rollout.Messages = resize(d.rollout.Messages, t.count)
	for i := range d.rollout.Messages {
		row := (*[layout.FirstMessageSize]byte)(d.buf[t.row(i):])
		m := &d.rollout.Messages[i]
		m.Role = d.text(word(row[layout.MessageRoleText:]))
		m.Content = d.text(word(row[layout.MessageContent:]))
		m.Name = d.text(word(row[layout.MessageName:]))
		m.ToolCallID = d.text(word(row[layout.MessageToolCallID:]))
		m.Null = half(row[layout.MessageFlags:])&layout.FlagContentNull != 0
		m.Parts = d.text(word(row[layout.MessageParts:]))
		first, count := int(half(row[layout.MessageFirstToolCall:])), int(half(row[layout.MessageToolCallCount:]))
		if first+count > len(d.calls) {
			d.bad = true
			return
		}
		m.ToolCalls = d.calls[first : first+count : first+count]
		m.Fields = nil
		if t.stride < layout.MessageSize || len(d.fields) == 0 {
			continue
		}
		first, count = d.u32(t.row(i)+layout.MessageFirstField), d.u32(t.row(i)+layout.MessageFieldCount)
		if first+count > len(d.fields) {
			d.bad = true
			return
		}
		m.Fields = d.fields[first : first+count : first+count]
	}
}

func (d *decoder) metadata() {
	t := d.table(layout.HeaderMetadata, layout.MetadataSize)
	d.rollout.Metadata = resize(d.rollout.Metadata, t.count)
	for i := range d.rollout.Metadata {
		at := t.row(i)
		d.rollout.Metadata[i] = Field{Key: d.str(at + layout.MetadataKey), Value: d.value(at + layout.MetadataValue)}
	}
}

func (d *decoder) steps() {
	t := d.table(layout.HeaderSteps, layout.StepSize)
	d.rollout.Steps = resize(d.rollout.Steps, t.count)
	for i := range d.rollout.Steps {
		row := (*[layout.StepSize]byte)(d.buf[t.row(i):])
		flags := half(row[layout.StepFlags:])
		s := &d.rollout.Steps[i]
		s.Message = int(int32(half(row[layout.StepMessage:])))
		s.Action = d.text(word(row[layout.StepAction:]))
		s.ActionKind = ActionKind(half(row[layout.StepActionKind:]))
		s.Choice = int(int32(half(row[layout.StepChoice:])))
		s.ActionValid = flags&layout.FlagActionValid != 0
		s.Reward = math.Float64frombits(word(row[layout.StepEnvReward:]))
		s.Terminated = flags&layout.FlagTerminated != 0
		s.Truncated = flags&layout.FlagTruncated != 0
		s.Anchor = d.text(word(row[layout.StepAnchor:]))
		s.ToolCalls = int(half(row[layout.StepToolCallCount:]))
	}
}

func (d *decoder) value(at int) Value {
	return Value{
		Kind: Kind(d.u32(at + layout.ValueKind)), JSON: d.str(at + layout.ValueJSON), Text: d.str(at + layout.ValueText),
		Number: d.f64(at + layout.ValueNumber), Bool: d.u32(at+layout.ValueBool) != 0,
	}
}

// table is a checked table: every row is inside the buffer.
type table struct{ count, offset, stride int }

func (t table) row(i int) int { return t.offset + i*t.stride }

func (d *decoder) table(at, least int) table {
	t := table{d.u32(at), d.u32(at + 4), d.u32(at + 8)}
	if t.stride < least || t.offset > len(d.buf) || t.count > (len(d.buf)-t.offset)/t.stride {
		d.bad = true
		return table{}
	}
	return t
}

// u32 returns 0 outside the buffer. On wasm, int has 64 bits, as on hosts.
func (d *decoder) u32(at int) int {
	if at+4 > len(d.buf) {
		d.bad = true
		return 0
	}
	return int(binary.LittleEndian.Uint32(d.buf[at:]))
}

func (d *decoder) f64(at int) float64 {
	if at+8 > len(d.buf) {
		d.bad = true
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(d.buf[at:]))
}

func (d *decoder) str(at int) string {
	if at+8 > len(d.buf) {
		d.bad = true
		return ""
	}
	return d.text(word(d.buf[at:]))
}

// text returns the string of a reference: its offset is the low half of ref, its
// length the high half.
func (d *decoder) text(ref uint64) string {
	offset, length := ref&math.MaxUint32, ref>>32
	if length == 0 {
		return ""
	}
	if offset+length > uint64(len(d.buf)) {
		d.bad = true
		return ""
	}
	return unsafe.String(&d.buf[offset], int(length))
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
func half(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// groupDecoder reads group buffers, with one decoder per member.
type groupDecoder struct {
	decoders []*decoder
	rollouts []*Rollout
}

func (g *groupDecoder) decode(buf []byte) bool {
	d := decoder{buf: buf}
	if !d.header() || d.u32(layout.HeaderFlags)&layout.FlagGroup == 0 {
		return false
	}
	t := d.table(layout.HeaderMembers, layout.MemberSize)
	g.rollouts = g.rollouts[:0]
	for i := range t.count {
		offset, size := d.u32(t.row(i)+layout.MemberOffset), d.u32(t.row(i)+layout.MemberLength)
		if d.bad || offset+size > len(buf) {
			return false
		}
		if i == len(g.decoders) {
			g.decoders = append(g.decoders, &decoder{rollout: new(Rollout)})
		}
		if !g.decoders[i].decode(buf[offset : offset+size]) {
			return false
		}
		g.rollouts = append(g.rollouts, g.decoders[i].rollout)
	}
	return !d.bad
}

// leastRows is the first capacity of a table's slice. The sandbox warms a module up
// before its snapshot, so calls need not allocate that memory again.
const leastRows = 64

func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, max(n, leastRows))
}
