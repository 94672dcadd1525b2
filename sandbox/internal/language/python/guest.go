package python

import (
	"bytes"
	"encoding/binary"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// guest is CPython in an instance. It is a WASI command, and a command that
// waits for input cannot be restored, because its stack is live. So the program
// never waits: it reports where a function is in memory that serves, or that loads
// a reward first, and calls _exit. That ends the host's call but not the
// interpreter, whose memory is as if _exit were still running. From then on such
// functions are called through CPython's own type slot, as a C function would call
// them, and the state between calls can be snapshotted like that of any reactor.
type guest struct {
	instance *engine.Instance
	streams  profile.Streams
	taken    map[string]bool // names of a reward's parameters
	said     []byte          // the unchanged hello
	hello    hello
	call     *engine.Func
}

// Offsets in the objects of CPython 3.12 on a 32-bit machine.
const (
	objectType  = 4
	objectSize  = 8
	bytesData   = 16
	arrayData   = 20
	listItems   = 12
	typeCall    = 64
	callParams  = "iii"
	callResults = "i"
)

// Start implements profile.Guest.
func (i *guest) Start() *engine.Stop {
	i.streams.Capture()
	_, stop := i.instance.Call(i.instance.Func("_start"))
	switch {
	case stop == nil:
		return &engine.Stop{Kind: engine.Refused, Err: errHello}
	case stop.Kind != engine.Exited || stop.Code != 0:
		return i.explained(stop)
	}
	if err := i.Resume(bytes.Clone(i.streams.Captured())); err != nil {
		return &engine.Stop{Kind: engine.Refused, Err: err}
	}
	return nil
}

// Memo implements profile.Guest.
func (i *guest) Memo() []byte { return i.said }

// Resume implements profile.Guest.
func (i *guest) Resume(said []byte) error {
	hello, ok := readHello(said)
	switch {
	case !ok:
		return errHello
	case hello.failed != "":
		return &result.Verdict{Outcome: reward.GuestError, Reason: text.Escape(hello.failed)}
	}
	hello.taken = i.taken
	i.said, i.hello = said, hello
	if i.call = i.instance.TableFunc(i.word(i.word(hello.read+objectType)+typeCall), callParams, callResults); i.call == nil {
		return errHello
	}
	return nil
}

// word reads a number from memory; 0, which is never the address of an object,
// if it cannot.
func (i *guest) word(at uint32) uint32 {
	b, ok := i.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// serve calls one of the functions that serve. The verdict is for a call that
// did not return, because the reward broke the interpreter.
func (i *guest) serve(function uint32, who string) (*result.Verdict, *engine.Stop) {
	returned, stop := i.instance.Call(i.call, uint64(function), uint64(i.hello.empty), 0)
	switch {
	case stop != nil || uint32(returned) != 0:
		return nil, i.explained(stop)
	case i.instance.MemoryDenied():
		return result.NoMemory("the interpreter had no room for the answer"), nil
	}
	return &result.Verdict{Outcome: reward.GuestError, Reason: "the " + who + " broke the interpreter"}, nil
}

// tooDeep is the reason of an interpreter that accessed an address outside of
// its memory: its C stack begins at address 0 and grows down, so a full stack
// does that.
const tooDeep = "out of bounds memory access in the Python interpreter. Usually the recursion is too deep for the interpreter's C stack: " +
	"it holds only some 50 nested calls if each goes through a built-in, as in sum(f(c) for c in node), max(map(f, node)) or sorted(node, key=f). " +
	"Call the function in a for loop instead of within the built-in, which can go thousands of calls deep, or replace the recursion by a loop with a list as the stack"

// explained returns the usual cause of a trap; nil stays nil.
func (i *guest) explained(stop *engine.Stop) *engine.Stop {
	if stop == nil || !stop.OutOfBounds() || i.instance.MemoryDenied() {
		return stop
	}
	return &engine.Stop{Kind: engine.Trap, Text: tooDeep}
}

// put writes a request into the buffer. If it is too large, the guest reads it
// from standard input, and the buffer contains its size.
func (i *guest) put(input []byte) {
	room, _ := i.instance.Bytes(i.word(i.hello.buffer+arrayData), i.word(i.hello.buffer+objectSize))
	if len(input) > len(room) {
		i.streams.Feed(input)
		size := marshal.Encoder{}
		size.Reset()
		size.Int(int64(len(input)))
		input = size.Bytes()
	}
	copy(room, input)
}

// answer returns what serve left behind, valid until the guest runs again, and
// whether it exists.
func (i *guest) answer() ([]byte, bool) {
	object := i.word(i.word(i.hello.answer + listItems))
	return i.instance.Bytes(object+bytesData, i.word(object+objectSize))
}
