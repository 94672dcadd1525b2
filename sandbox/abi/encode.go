package abi

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sdk/reward/layout"
)

// TooLarge is the error of an Encoder for input larger than its limit.
type TooLarge struct {
	Limit int // bytes
}

// Error returns a message with the limit.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("the input of the reward is larger than %d bytes", e.Limit)
}

// Encoder writes buffers into one slice that it reuses, so that it allocates no
// memory once the slice has grown. It is not safe for concurrent use.
type Encoder struct {
	buf   []byte
	base  int // start of the trajectory's buffer within buf
	limit int
	over  bool
	empty int // offset of the shared NUL of absent strings
	keys  []string
}

// NewEncoder returns an encoder for buffers of at most limit bytes.
func NewEncoder(limit int) *Encoder {
	return &Encoder{limit: min(limit, math.MaxInt32)}
}

// Trajectory encodes t. The result is valid until the next call. Bytes that
// are not UTF-8 become U+FFFD. The error is a *TooLarge.
func (e *Encoder) Trajectory(t *rl.Trajectory) ([]byte, error) {
	e.reset()
	e.trajectory(t)
	return e.done()
}

// Group encodes the members of one group. The result is valid until the next
// call. The error is a *TooLarge.
func (e *Encoder) Group(members []*rl.Trajectory) ([]byte, error) {
	e.reset()
	table := layout.HeaderSize
	e.room(layout.HeaderSize + len(members)*layout.MemberSize)
	e.header(layout.FlagGroup)
	e.put(layout.HeaderPromptMessages, -1)
	e.put(layout.HeaderLastAssistant, -1)
	for _, t := range [...][2]int{
		{layout.HeaderMessages, layout.MessageSize}, {layout.HeaderToolCalls, layout.ToolCallSize}, {layout.HeaderMetadata, layout.MetadataSize}, {layout.HeaderSteps, layout.StepSize}, {layout.HeaderFields, layout.FieldSize},
	} {
		e.table(t[0], 0, layout.HeaderSize, t[1])
	}
	e.table(layout.HeaderMembers, len(members), table, layout.MemberSize)
	e.heap()
	if len(members) > 0 {
		e.str(layout.HeaderGroup, members[0].Group)
		e.str(layout.HeaderTask, members[0].Task)
	}
	e.put(layout.HeaderHeapSize, len(e.buf)-e.at(layout.HeaderHeapOffset))
	e.align()
	for i, t := range members {
		start := len(e.buf)
		e.base = start
		e.trajectory(t)
		e.base = 0
		row := table + i*layout.MemberSize
		e.put(row+layout.MemberOffset, start)
		e.put(row+layout.MemberLength, len(e.buf)-start)
	}
	e.put(layout.HeaderTotalSize, len(e.buf))
	return e.done()
}

func (e *Encoder) reset() {
	e.buf, e.base, e.over = e.buf[:0], 0, false
}

func (e *Encoder) done() ([]byte, error) {
	if e.over || len(e.buf) > e.limit {
		return nil, &TooLarge{Limit: e.limit}
	}
	return e.buf, nil
}

func (e *Encoder) trajectory(t *rl.Trajectory) {
	calls, fields := 0, 0
	for i := range t.Messages {
		calls += len(t.Messages[i].ToolCalls)
		if t.Messages[i].More != nil {
			fields += len(t.Messages[i].Seen())
		}
	}
	messages := layout.HeaderSize
	toolCalls := messages + len(t.Messages)*layout.MessageSize
	metadata := toolCalls + calls*layout.ToolCallSize
	e.columns(t)
	steps := metadata + len(e.keys)*layout.MetadataSize
	table := steps + len(t.Steps)*layout.StepSize
	if e.room(table + fields*layout.FieldSize); e.over {
		return
	}
	e.header(0)
	e.put(layout.HeaderStopReason, stopReason(t.StopReason))
	e.table(layout.HeaderMessages, len(t.Messages), messages, layout.MessageSize)
	e.table(layout.HeaderToolCalls, calls, toolCalls, layout.ToolCallSize)
	e.table(layout.HeaderMetadata, len(e.keys), metadata, layout.MetadataSize)
	e.table(layout.HeaderSteps, len(t.Steps), steps, layout.StepSize)
	e.table(layout.HeaderFields, fields, table, layout.FieldSize)
	e.table(layout.HeaderMembers, 0, layout.HeaderSize, layout.MemberSize)
	e.boundary(t)
	e.heap()
	e.str(layout.HeaderID, t.ID)
	e.str(layout.HeaderGroup, t.Group)
	e.str(layout.HeaderTask, t.Task)
	e.value(layout.HeaderGroundTruth, t.GroundTruth)
	e.messages(t, messages, toolCalls, table)
	e.metadata(t, metadata)
	e.steps(t, steps, messages)
	e.put(layout.HeaderHeapSize, len(e.buf)-e.base-e.at(layout.HeaderHeapOffset))
	e.align()
	e.put(layout.HeaderTotalSize, len(e.buf)-e.base)
}

func (e *Encoder) messages(t *rl.Trajectory, table, toolCalls, fields int) {
	assistants, last, call, field := 0, -1, 0, 0
	next, given := 0, t.Given()
	for i := range t.Messages {
		m, row := &t.Messages[i], table+i*layout.MessageSize
		index := -1
		if m.Role == rl.RoleAssistant {
			last = i
			assistants++
			if i >= given {
				index = next
				next++
			}
		}
		e.put(row+layout.MessageRole, role(m.Role))
		e.put(row+layout.MessageAssistantIndex, index)
		e.str(row+layout.MessageRoleText, m.Role)
		e.str(row+layout.MessageContent, m.Content.Text())
		e.str(row+layout.MessageName, m.Name)
		e.str(row+layout.MessageToolCallID, m.ToolCallID)
		e.put(row+layout.MessageFirstToolCall, call)
		e.put(row+layout.MessageToolCallCount, len(m.ToolCalls))
		e.put(row+layout.MessageStep, -1)
		parts := m.Content.Parts()
		e.bytes(row+layout.MessageParts, parts)
		switch {
		case m.Content.IsNull():
			e.put(row+layout.MessageFlags, layout.FlagContentNull)
		case parts != nil:
			e.put(row+layout.MessageFlags, layout.FlagContentParts)
		}
		for j := range m.ToolCalls {
			c, row := &m.ToolCalls[j], toolCalls+call*layout.ToolCallSize
			e.str(row+layout.ToolCallID, c.ID)
			e.str(row+layout.ToolCallName, c.Function.Name)
			e.str(row+layout.ToolCallArguments, c.Function.Arguments)
			e.str(row+layout.ToolCallType, c.Type)
			call++
		}
		e.put(row+layout.MessageFirstField, field)
		if m.More == nil {
			continue
		}
		for _, f := range m.Seen() {
			at := fields + field*layout.FieldSize
			e.str(at+layout.FieldKey, f.Name)
			e.value(at+layout.FieldValue, f.Value)
			field++
		}
		e.put(row+layout.MessageFieldCount, field-e.at(row+layout.MessageFirstField))
	}
	e.put(layout.HeaderAssistantCount, assistants)
	e.put(layout.HeaderLastAssistant, last)
}

// boundary writes where the prompt ends, if that is known, and what was a text.
func (e *Encoder) boundary(t *rl.Trajectory) {
	n, said := t.Boundary()
	if !said {
		n = -1
	}
	e.put(layout.HeaderPromptMessages, n)
	e.put(layout.HeaderAsText, int(t.AsText))
}

// columns lists the keys of the metadata, and the columns whose names Merit
// uses itself, except those that a rollout contains elsewhere.
func (e *Encoder) columns(t *rl.Trajectory) {
	e.keys = e.keys[:0]
	for k := range t.Metadata {
		e.keys = append(e.keys, k)
	}
	for k := range t.Own {
		if _, there := t.Metadata[k]; !there && k != "metadata" && k != "messages" && k != "ground_truth" {
			e.keys = append(e.keys, k)
		}
	}
	slices.Sort(e.keys)
}

func (e *Encoder) metadata(t *rl.Trajectory, table int) {
	for i, k := range e.keys {
		row := table + i*layout.MetadataSize
		e.str(row+layout.MetadataKey, k)
		if value, ok := t.Metadata[k]; ok {
			e.value(row+layout.MetadataValue, value)
		} else {
			e.value(row+layout.MetadataValue, t.Own[k])
		}
	}
}

func (e *Encoder) steps(t *rl.Trajectory, table, messages int) {
	for i := range t.Steps {
		s, row := &t.Steps[i], table+i*layout.StepSize
		message := -1
		if s.MessageCount >= 0 && s.MessageCount < len(t.Messages) {
			message = s.MessageCount
			e.put(messages+message*layout.MessageSize+layout.MessageStep, i)
		}
		e.put(row+layout.StepMessage, message)
		e.put(row+layout.StepFlags, flag(s.ActionValid, layout.FlagActionValid)|flag(s.Terminated, layout.FlagTerminated)|flag(s.Truncated, layout.FlagTruncated))
		e.float(row+layout.StepEnvReward, s.EnvReward)
		e.str(row+layout.StepAction, s.Action.Text)
		e.put(row+layout.StepActionKind, actionKind(s.Action.Kind))
		e.put(row+layout.StepChoice, s.Action.Choice)
		e.str(row+layout.StepAnchor, s.Anchor)
		e.put(row+layout.StepToolCallCount, len(s.Action.ToolCalls))
	}
}

// room appends n zero bytes for the header and the tables.
func (e *Encoder) room(n int) {
	if e.over = e.over || len(e.buf)+n > e.limit; !e.over {
		e.buf = slices.Grow(e.buf, n)
		start := len(e.buf)
		e.buf = e.buf[:start+n]
		clear(e.buf[start:])
	}
}

func (e *Encoder) header(flags int) {
	e.put(0, layout.Magic)
	e.put(layout.HeaderVersion, layout.Version)
	e.put(layout.HeaderHeaderSize, layout.HeaderSize)
	e.put(layout.HeaderFlags, flags)
}

func (e *Encoder) table(at, count, offset, stride int) {
	e.put(at, count)
	e.put(at+4, offset)
	e.put(at+8, stride)
}

// heap starts the string heap after the tables, with the NUL that all absent
// strings share, and points the strings of the header at it.
func (e *Encoder) heap() {
	if e.over {
		return
	}
	e.empty = len(e.buf) - e.base
	e.put(layout.HeaderHeapOffset, e.empty)
	e.buf = append(e.buf, 0)
	for _, at := range [...]int{layout.HeaderID, layout.HeaderGroup, layout.HeaderTask, layout.HeaderGroundTruth + layout.ValueJSON, layout.HeaderGroundTruth + layout.ValueText} {
		e.put(at, e.empty)
	}
}

func (e *Encoder) align() {
	for len(e.buf)%8 != 0 {
		e.buf = append(e.buf, 0)
	}
}

// put writes a u32 or i32 at an offset of the current buffer.
func (e *Encoder) put(at, v int) {
	if !e.over {
		binary.LittleEndian.PutUint32(e.buf[e.base+at:], uint32(v))
	}
}

// at reads back what put wrote.
func (e *Encoder) at(at int) int {
	if e.over {
		return 0
	}
	return int(binary.LittleEndian.Uint32(e.buf[e.base+at:]))
}

func (e *Encoder) float(at int, v float64) {
	if !e.over {
		binary.LittleEndian.PutUint64(e.buf[e.base+at:], math.Float64bits(v))
	}
}

// str appends a string to the heap and writes its reference.
func (e *Encoder) str(at int, s string) {
	if s == "" {
		e.put(at, e.empty)
		return
	}
	if !ascii(s) && !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if e.over = e.over || len(e.buf)+len(s) >= e.limit; e.over {
		return
	}
	e.put(at, len(e.buf)-e.base)
	e.put(at+4, len(s))
	e.buf = append(append(e.buf, s...), 0)
}

// ascii reports whether s is ASCII, four words at a time. Most text is, and
// utf8.ValidString would take a third of the time of the whole encoding.
func ascii(s string) bool {
	const high = 0x8080808080808080
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	for ; len(b) >= 32; b = b[32:] {
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
		if (word(0)|word(8)|word(16)|word(24))&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (e *Encoder) bytes(at int, b []byte) {
	if !utf8.Valid(b) {
		b = []byte(strings.ToValidUTF8(string(b), "\uFFFD"))
	}
	if len(b) == 0 {
		e.put(at, e.empty)
		return
	}
	if e.over = e.over || len(e.buf)+len(b) >= e.limit; e.over {
		return
	}
	e.put(at, len(e.buf)-e.base)
	e.put(at+4, len(b))
	e.buf = append(append(e.buf, b...), 0)
}

func flag(set bool, bit int) int {
	if set {
		return bit
	}
	return 0
}
