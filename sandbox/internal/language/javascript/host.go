package javascript

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// Functions of the host, by the names of the global object's properties under
// which Merit's own modules find them: a reward has the channel through which it
// opens programs, a program has what makes a source a module.
const (
	hostChannel = "__merit_channel"
	hostCompile = "__merit_compile"
)

var errNoChannel = errors.New("the module has no channel")

// install makes a function of the host a property of the global object.
func (i *guest) install(name string) {
	at := i.put(name)
	function := i.call("qjs_new_host_function", at, uint32(len(name)), 0)
	global := i.call("qjs_get_global")
	i.call("qjs_set_prop_string", global, at, function)
	i.call("qjs_free_value", function)
	i.call("qjs_free_value", global)
	i.call("wasm_free", at)
}

// hostCall is the import host_call: name, its length, this, the number of
// arguments and where they are. It returns a value for the interpreter to free,
// or 0 with an exception pending.
func hostCall(in *engine.Instance, stack []uint64) {
	h, ours := in.Host.(*quickjs)
	if !ours {
		stack[0] = 0
		return
	}
	var value uint32
	stop := h.guard(func() error {
		name, _ := in.Bytes(uint32(stack[0]), uint32(stack[1]))
		count, at := uint32(stack[3]), uint32(stack[4])
		switch string(name) {
		case hostChannel:
			value = h.channel(h.arguments(at, count, 1))
		case hostCompile:
			value = h.compiled(h.arguments(at, count, 2))
		}
		return nil
	})
	switch {
	case stop == nil:
		stack[0] = uint64(value)
	case stop.Kind == engine.Refused:
		in.Abort(stop.Err)
	default:
		panic(stop)
	}
}

// arguments are the texts of so many arguments, as far as they were given.
func (q *quickjs) arguments(at, count uint32, wanted int) []string {
	texts := make([]string, wanted)
	cell := q.call("wasm_malloc", 4)
	for i := range min(wanted, int(count)) {
		text, _ := q.bytes(q.load(at+4*uint32(i)), cell, 1<<30)
		texts[i] = string(text)
	}
	q.call("wasm_free", cell)
	return texts
}

// unreadable stands for an answer that the interpreter's reader of JSON, which
// knows no bound, would not survive.
var unreadable = []byte(`{"unreadable":"it nests too deeply"}`)

// channel hands a message to the host's end of the channel and returns the
// answer, a line and a text. At the end of the line it adds what it takes to
// read the text.
func (q *quickjs) channel(message []string) uint32 {
	if q.instance.Channel == nil { // it was installed, but nothing in a guest's memory is to be believed
		q.instance.Abort(errNoChannel)
	}
	answer := q.instance.Channel.Exchange([]byte(message[0]))
	q.instance.Charge(uint64(len(answer)))
	line, text, _ := bytes.Cut(answer, []byte("\n"))
	depth, fuel := reading(text)
	if depth > 1000 {
		text = unreadable
	}
	return q.string(fmt.Sprintf("%s %d\n%s", line, fuel, text))
}

// What reading takes of QuickJS, as measured, in units of fuel.
const (
	shortText  = 1024 // bytes that are not worth counting
	readByte   = 120
	readItem   = 5_000
	readList   = 12_000
	readObject = 65_000
)

// reading tells how deep lists and objects nest in JSON, and about how much
// fuel it takes to read it.
func reading(json []byte) (deepest, fuel int) {
	depth, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case quoted:
		case c == ',':
			fuel += readItem
		case c == '[', c == '{':
			depth++
			deepest = max(deepest, depth)
			if fuel += readList; c == '{' {
				fuel += readObject - readList
			}
		case c == ']', c == '}':
			depth--
		}
	}
	if len(json) <= shortText {
		return deepest, 0
	}
	return deepest, fuel + readByte*len(json)
}

// compiled makes a source known as a module.
func (q *quickjs) compiled(nameAndSource []string) uint32 {
	value := q.try(nameAndSource[0], nameAndSource[1], evalModule|evalCompileOnly)
	if q.call("qjs_is_exception", value) != 0 {
		return 0
	}
	q.call("qjs_free_value", value)
	return q.call("qjs_dup_value", q.call("qjs_get_undefined"))
}
