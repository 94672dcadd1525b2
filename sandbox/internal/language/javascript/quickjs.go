package javascript

import (
	"encoding/binary"
	"errors"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// quickjs calls the exports of the interpreter. A JavaScript value is the
// address of a cell. Errors panic with a leave, which guard turns into a Stop:
// this keeps the many small calls readable.
type quickjs struct {
	instance  *engine.Instance
	functions map[string]*engine.Func
}

func newQuickjs(i *engine.Instance) quickjs {
	return quickjs{instance: i, functions: map[string]*engine.Func{}}
}

// leave is the panic of a call that failed.
type leave struct{ stop *engine.Stop }

// Flags of qjs_eval.
const (
	evalModule      = 1 << 0
	evalCompileOnly = 1 << 5
)

// guard runs work and returns how it stopped.
func (q *quickjs) guard(work func() error) (stop *engine.Stop) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case leave:
			stop = r.stop
		case *engine.Stop: // Charge ran out of fuel
			stop = r
		default:
			panic(r)
		}
	}()
	if err := work(); err != nil {
		return &engine.Stop{Kind: engine.Refused, Err: err}
	}
	return nil
}

func (q *quickjs) call(name string, args ...uint32) uint32 {
	f := q.functions[name]
	if f == nil {
		if f = q.instance.Func(name); f == nil {
			panic(leave{&engine.Stop{Kind: engine.Refused, Err: errors.New("the interpreter does not export " + name)}})
		}
		q.functions[name] = f
	}
	var wide [4]uint64
	for i, a := range args {
		wide[i] = uint64(a)
	}
	result, stop := q.instance.Call(f, wide[:len(args)]...)
	if stop != nil {
		panic(leave{stop})
	}
	return uint32(result)
}

// put copies text, with a NUL at its end, into the guest.
func (q *quickjs) put(text string) uint32 {
	at, room := q.room(len(text) + 1)
	copy(room, text)
	return at
}

// room returns memory of the guest that ends with a NUL, and where it is.
func (q *quickjs) room(size int) (at uint32, b []byte) {
	at = q.call("wasm_malloc", uint32(size))
	b, ok := q.instance.Bytes(at, uint32(size))
	if at == 0 || !ok {
		panic(leave{&engine.Stop{Kind: engine.Refused, Err: &result.Verdict{Outcome: reward.OutOfMemory, Reason: "there is no room for the input (sandbox.memory_mib)"}}})
	}
	b[size-1] = 0
	return at, b
}

// string makes a JavaScript string.
func (q *quickjs) string(text string) uint32 {
	at := q.put(text)
	value := q.call("qjs_new_string", at, uint32(len(text)))
	q.call("wasm_free", at)
	return value
}

// strings makes one JavaScript string of each part of text.
func (q *quickjs) strings(text []byte, sizes []uint32) []uint32 {
	at, room := q.room(len(text) + 1)
	copy(room, text)
	values, part := make([]uint32, len(sizes)), at
	for i, size := range sizes {
		values[i] = q.call("qjs_new_string", part, size)
		part += size
	}
	q.call("wasm_free", at)
	return values
}

// bytes copies the text of a string, which may have at most the given number of
// bytes; cell is memory for a length.
func (q *quickjs) bytes(value, cell uint32, most int) (text []byte, fits bool) {
	at := q.call("qjs_get_string_len", value, cell)
	size := q.load(cell)
	if fits = uint64(size) <= uint64(max(most, 0)); fits {
		view, _ := q.instance.Bytes(at, size)
		text = append(text, view...)
		q.instance.Charge(uint64(size))
	}
	if at != 0 {
		q.call("qjs_free_cstring", at)
	}
	return text, fits
}

// store and load move one word of guest memory.
func (q *quickjs) store(at, v uint32) {
	if b, ok := q.instance.Bytes(at, 4); ok {
		binary.LittleEndian.PutUint32(b, v)
	}
}

func (q *quickjs) load(at uint32) uint32 {
	b, ok := q.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// eval compiles or runs a module.
func (q *quickjs) eval(name, code string, flags uint32) uint32 {
	value := q.try(name, code, flags)
	q.check(value)
	return value
}

// compiles compiles a module and reports whether that succeeded.
func (q *quickjs) compiles(name, code string) bool {
	if q.call("qjs_is_exception", q.try(name, code, evalModule|evalCompileOnly)) == 0 {
		return true
	}
	q.call("qjs_free_value", q.call("qjs_get_exception"))
	return false
}

func (q *quickjs) try(name, code string, flags uint32) uint32 {
	at, file := q.put(code), q.put(name)
	value := q.call("qjs_eval", at, uint32(len(code)), file, flags)
	q.call("wasm_free", at)
	q.call("wasm_free", file)
	return value
}

// settle runs the jobs of a module and panics with its error if it has one.
func (q *quickjs) settle(promise uint32) {
	for q.call("qjs_is_job_pending") != 0 {
		if int32(q.call("qjs_execute_pending_job")) < 0 {
			q.throw(q.call("qjs_get_exception"))
		}
	}
	const fulfilled, rejected = 1, 2
	if q.call("qjs_is_promise", promise) == 0 {
		return
	}
	switch q.call("qjs_promise_state", promise) {
	case fulfilled:
	case rejected:
		q.throw(q.call("qjs_promise_result", promise))
	default:
		panic(leave{&engine.Stop{Kind: engine.Refused, Err: &result.Verdict{Outcome: reward.GuestError, Reason: "the module waits for something outside: there is nothing outside of the sandbox"}}})
	}
}

// check panics with the pending exception if value indicates one.
func (q *quickjs) check(value uint32) {
	if q.call("qjs_is_exception", value) != 0 {
		q.throw(q.call("qjs_get_exception"))
	}
}

// throw panics with an exception and its stack.
func (q *quickjs) throw(exception uint32) {
	said := q.text(exception)
	if stack := q.property(exception, "stack"); q.call("qjs_is_string", stack) != 0 {
		said += "\n" + q.text(stack)
	}
	outcome := reward.GuestError
	if q.instance.MemoryDenied() {
		outcome = reward.OutOfMemory
	}
	panic(leave{&engine.Stop{Kind: engine.Refused, Err: &result.Verdict{Outcome: outcome, Reason: text.Escape(said)}}})
}

func (q *quickjs) property(object uint32, name string) uint32 {
	at := q.put(name)
	value := q.call("qjs_get_prop_string", object, at)
	q.call("wasm_free", at)
	return value
}

// text returns String(value).
func (q *quickjs) text(value uint32) string {
	const most = 8192
	at := q.call("qjs_get_string", value)
	if at == 0 {
		return ""
	}
	var out []byte
	for len(out) < most {
		b, ok := q.instance.Bytes(at+uint32(len(out)), 1)
		if !ok || b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	q.call("qjs_free_cstring", at)
	return string(out)
}
