package python

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/stretchr/testify/require"
)

// saidShelf is a shelf as merit_reward._shelf says it, with other fields.
func saidShelf(fields ...string) []byte {
	var e marshal.Encoder
	e.Reset()
	e.Dict()
	for name, at := range map[string]int64{"none": 8, "messages": messagesAt, "arguments": argumentsAt} {
		e.Text(name)
		e.Int(at)
	}
	list := func(name string, n int, item func()) {
		e.Text(name)
		e.List(n)
		for range n {
			item()
		}
	}
	address := func() { e.Int(8) }
	list("named", 1, func() { e.Text("messages") })
	list("fields", 1, func() {
		e.List(len(fields))
		for _, f := range fields {
			e.Text(f)
		}
	})
	list("shapes", 1, func() { e.List(3); address(); address(); address() })
	list("calls", 1, address)
	list("lists", 1, address)
	list("widths", 4, address)
	e.Text("texts")
	e.Dict()
	e.Text("user")
	address()
	e.End()
	e.End()
	return e.Bytes()
}

const argumentsAt, messagesAt, bufferAt = 128, 256, 320

// dicts is memory with two dicts, of n entries, and of one, the arguments; and
// with the list of messages and the buffer.
func dicts(n uint32) []byte {
	memory := make([]byte, 512)
	for at, n := range map[uint32]uint32{8: n, argumentsAt: 1} {
		keys := at + 64
		for to, word := range map[uint32]uint32{at + dictUsed: n, at + dictKeys: keys, keys + keysCount: n, keys + keysLog: keysKind << 16} {
			binary.LittleEndian.PutUint32(memory[to:], word)
		}
	}
	binary.LittleEndian.PutUint32(memory[messagesAt+objectSize:], 256)
	binary.LittleEndian.PutUint32(memory[bufferAt+objectSize:], 4096)
	return memory
}

// conversations have every field that a message may have, and none.
func conversations() []*rl.Trajectory {
	all := []*rl.Trajectory{{}}
	for shape := range int(shapes) {
		m := rl.Message{Role: "user", Content: rl.Text("häh €")}
		if shape&withName != 0 {
			m.Name = "n"
		}
		if shape&withCallID != 0 {
			m.ToolCallID = "c"
		}
		if shape&withCalls != 0 {
			m.ToolCalls = []rl.ToolCall{{ID: "1", Type: "function", Function: rl.FunctionCall{Name: "f", Arguments: "{}"}}}
		}
		all = append(all, &rl.Trajectory{Messages: []rl.Message{m, m, {Role: strings.Repeat("x", 300)}}, GroundTruth: json.RawMessage(`"4"`)})
	}
	return all
}

// FuzzShelf: whatever a guest says of its records, and whatever stands where it
// says they are, the host only writes numbers to addresses.
func FuzzShelf(f *testing.F) {
	for _, fields := range [][]string{
		{"role", "content"}, {"role", "content", "tool_calls"}, {"role"}, {}, {"tool_calls"}, {"role", "content", "content", "tool_calls"}, {"content", "role"},
	} {
		for n := range uint32(4) {
			f.Add(saidShelf(fields...), dicts(n))
		}
	}
	f.Fuzz(func(t *testing.T, said, memory []byte) {
		v, err := marshal.Decode(said)
		if err != nil {
			return
		}
		s := openShelf(&v, bufferAt, func(at uint32) uint32 {
			if uint64(at)+4 > uint64(len(memory)) {
				return 0
			}
			return binary.LittleEndian.Uint32(memory[at:])
		})
		if s == nil {
			return
		}
		l, h, e := layer{shelf: s}, hello{open: true}, marshal.Encoder{}
		for _, x := range conversations() {
			out, err := l.lay(&h, &e, x)
			require.NoError(t, err)
			if out != nil {
				require.GreaterOrEqual(t, len(out), laidHead+patchBytes*int(binary.LittleEndian.Uint32(out[4:])))
			}
		}
	})
}
