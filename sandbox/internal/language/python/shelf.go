package python

import (
	"github.com/merit-rl/merit/sandbox/internal/marshal"
)

// shelf is where the records lie that merit_reward._shelf makes ahead: the
// addresses into which a conversation is written. Whoever forges them has his
// own memory spoilt.
type shelf struct {
	messages  list
	arguments map[string]uint32 // where the value of each stands
	shapes    [shapes][]record
	calls     []call
	lists     []list // for the calls of a message
	texts     map[string]uint32
	heads     [4]head // by the width of characters
	buffer    uint32  // where what is laid down begins
	room      int     // how much that may be
}

// record is a dict; its values stand at these addresses, in the order of keys.
type record struct {
	at     uint32
	values []uint32
}

// call is a tool call: where the values of its fields stand, and those of its
// function.
type call struct {
	at                        uint32
	id, kind, name, arguments uint32
}

// list is a list that is longer than needed.
type list struct {
	at, size uint32 // the object, and where its length stands
	items    uint32 // where its first item stands
	room     int
}

// head is the beginning of a string, which says what it is.
type head struct{ count, kind, state uint32 }

// Offsets in the objects of CPython 3.12 on a 32-bit machine: of a dict, of the
// keys of one, whose keys are strings and whose values stand beside them.
const (
	dictUsed    = 8
	dictKeys    = 24
	keysLog     = 4 // a byte: log2 of the room; log2 of the bytes of indices; the kind
	keysKind    = 1
	keysCount   = 16
	keysIndices = 20
	entryBytes  = 8
	entryValue  = 4
	textHash    = 12
	textState   = 16
	textShort   = 20 // where ASCII begins
	textLong    = 28 // where others do, behind an UTF-8 form that is not there
)

// The shape of a message is the sum of the fields that it has beside role and
// content. They stand in this order.
const (
	withName = 1 << iota
	withCallID
	withCalls
	shapes
)

var fieldShapes = map[string]int{"name": withName, "tool_call_id": withCallID, "tool_calls": withCalls}

const (
	fieldsInCall = 3
	plainFields  = 2 // role and content
)

// openShelf reads the addresses; word reads memory. It is nil if there is no
// shelf, or one that is not as it should be: a script can say what it likes.
func openShelf(v *marshal.Value, buffer uint32, word func(uint32) uint32) *shelf {
	address := func(name string) uint32 { return uint32(v.Get(name).Int) }
	s := &shelf{
		messages: openList(address("messages"), word), arguments: map[string]uint32{}, texts: map[string]uint32{},
		buffer: word(buffer + arrayData), room: int(word(buffer + objectSize)),
	}
	named, fields, shapes, widths := v.Get("named").Items, v.Get("fields").Items, v.Get("shapes").Items, v.Get("widths").Items
	arguments := values(address("arguments"), len(named), word)
	if len(arguments) != len(named) || len(fields) != len(shapes) || len(widths) != len(s.heads) {
		return nil
	}
	for i, at := range arguments {
		s.arguments[string(named[i].Text)] = at
	}
	for i, f := range fields {
		if !s.openShape(f.Items, shapes[i].Items, word) {
			return nil
		}
	}
	for _, c := range v.Get("calls").Items {
		s.openCall(uint32(c.Int), word)
	}
	for _, l := range v.Get("lists").Items {
		s.lists = append(s.lists, openList(uint32(l.Int), word))
	}
	for texts := v.Get("texts").Items; len(texts) > 1; texts = texts[2:] {
		s.texts[string(texts[0].Text)] = uint32(texts[1].Int)
	}
	for i, at := range widths {
		s.heads[i] = head{word(address("none")), word(uint32(at.Int) + objectType), word(uint32(at.Int) + textState)}
	}
	return s
}

func openList(at uint32, word func(uint32) uint32) list {
	return list{at, at + objectSize, word(at + listItems), int(word(at + objectSize))}
}

func (s *shelf) openShape(fields, messages []marshal.Value, word func(uint32) uint32) bool {
	shape, ok := shapeWith(fields)
	if !ok || len(s.shapes[shape]) > 0 {
		return false
	}
	for _, m := range messages {
		if r := (record{uint32(m.Int), values(uint32(m.Int), len(fields), word)}); r.values != nil {
			s.shapes[shape] = append(s.shapes[shape], r)
		}
	}
	return true
}

// shapeWith returns the shape of messages with these fields. It fails if they
// are not those of one, each once and in their order.
func shapeWith(fields []marshal.Value) (shape int, ok bool) {
	if len(fields) < plainFields || string(fields[0].Text) != "role" || string(fields[1].Text) != "content" {
		return 0, false
	}
	for _, f := range fields[plainFields:] {
		field := fieldShapes[string(f.Text)]
		if field <= shape {
			return 0, false
		}
		shape |= field
	}
	return shape, true
}

func (s *shelf) openCall(at uint32, word func(uint32) uint32) {
	outer := values(at, fieldsInCall, word)
	if outer == nil {
		return
	}
	if inner := values(word(outer[2]), 2, word); inner != nil {
		s.calls = append(s.calls, call{at, outer[0], outer[1], inner[0], inner[1]})
	}
}

// values returns where the values of a dict of n strings as keys stand, or nil
// if the object is none.
func values(dict uint32, n int, word func(uint32) uint32) []uint32 {
	keys := word(dict + dictKeys)
	sizes := word(keys + keysLog)
	if log, kind := sizes>>8&0xff, sizes>>16&0xff; word(dict+dictUsed) == uint32(n) && word(keys+keysCount) == uint32(n) && kind == keysKind && log < 32 {
		first := keys + keysIndices + 1<<log
		out := make([]uint32, n)
		for i := range out {
			out[i] = first + uint32(i)*entryBytes + entryValue
		}
		return out
	}
	return nil
}
