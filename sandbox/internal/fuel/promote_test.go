package fuel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	. "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

const (
	frameSize = 32
	stackTop  = 1024
)

// inFrame is code with a frame in a local, as clang -O0 writes it; the parameter is local 0.
func inFrame(base uint32, code Code) Code {
	return GlobalGet(0) + I32Const(frameSize) + I32Sub + LocalTee(base) + GlobalSet(0) + code +
		LocalGet(base) + I32Const(frameSize) + I32Add + GlobalSet(0)
}

func store(base, offset uint32, value Code) Code { return LocalGet(base) + value + I32Store(offset) }
func load(base, offset uint32) Code              { return LocalGet(base) + I32Load(offset) }

const (
	i32Load8S  Code = "\x2c\x00"
	i32Load16S Code = "\x2e\x00"
	i32Store16 Code = "\x3b\x00"
)

// promotions are functions of an i32 with locals 1 and 2; function 1 stores 7 at its argument and returns 5.
var promotions = []struct {
	name  string
	body  Code
	moved bool // something in memory becomes a local
	still bool // a frame is taken nevertheless
}{
	{"variables", inFrame(1, store(1, 8, LocalGet(0))+store(1, 12, load(1, 8)+I32Const(3)+I32Mul)+LocalGet(0)+load(1, 12)+I32Add+LocalSet(2)) + LocalGet(2), true, false},
	{"a loop", inFrame(1, store(1, 8, I32Const(0))+store(1, 12, LocalGet(0))+Block(Loop(load(1, 12)+I32Eqz+BrIf(1)+
		store(1, 8, load(1, 8)+load(1, 12)+I32Add)+store(1, 12, load(1, 12)+I32Const(1)+I32Sub)+Br(0)))+load(1, 8)+LocalSet(2)) + LocalGet(2), true, false},
	{"bytes", inFrame(1, LocalGet(1)+LocalGet(0)+I32Const(200)+I32Add+I32Store8(3)+
		LocalGet(1)+I32Load8U(3)+LocalGet(1)+i32Load8S+"\x03"+I32Mul+LocalSet(2)) + LocalGet(2), true, false},
	{"half words", inFrame(1, LocalGet(1)+LocalGet(0)+I32Const(-70000)+I32Add+i32Store16+"\x04"+
		LocalGet(1)+i32Load16S+"\x04"+LocalSet(2)) + LocalGet(2), true, false},
	{"what overlaps stays", inFrame(1, LocalGet(1)+I64Const(0x0102030405060708)+I64Store(8)+store(1, 20, LocalGet(0))+
		load(1, 12)+load(1, 20)+I32Add+LocalSet(2)) + LocalGet(2), true, true},
	{"a byte of a word stays", inFrame(1, store(1, 8, LocalGet(0)+I32Const(300)+I32Add)+LocalGet(1)+I32Load8U(8)+LocalSet(2)) + LocalGet(2), false, true},
	{"an address in a call", inFrame(1, store(1, 8, LocalGet(0))+LocalGet(1)+I32Const(8)+I32Add+Call(1)+load(1, 8)+I32Add+LocalSet(2)) + LocalGet(2), false, true},
	{"the frame itself in a call", inFrame(1, store(1, 0, LocalGet(0))+LocalGet(1)+Call(1)+load(1, 0)+I32Add+LocalSet(2)) + LocalGet(2), false, true},
	{"an address in memory", inFrame(1, store(1, 8, LocalGet(0))+I32Const(0)+LocalGet(1)+I32Store(0)+
		I32Const(0)+I32Load(0)+I32Const(9)+I32Store(8)+load(1, 8)+LocalSet(2)) + LocalGet(2), false, true},
	{"an address in a local", inFrame(1, store(1, 8, LocalGet(0))+LocalGet(1)+LocalSet(2)+LocalGet(2)+I32Const(4)+I32Store(8)+load(1, 8)+LocalSet(2)) + LocalGet(2), false, true},
	{"an address out of a block", inFrame(1, store(1, 8, LocalGet(0))+BlockOf(Types(I32), LocalGet(1))+I32Const(4)+I32Store(8)+load(1, 8)+LocalSet(2)) + LocalGet(2), false, true},
	{"an address with a branch", inFrame(1, store(1, 8, LocalGet(0))+BlockOf(Types(I32), LocalGet(1)+LocalGet(0)+BrIf(0)+I32Load(8))+LocalSet(2)) + LocalGet(2), false, true},
	{"an address that is computed", inFrame(1, store(1, 8, LocalGet(0))+LocalGet(1)+I32Const(8)+I32Add+I32Load(0)+LocalSet(2)) + LocalGet(2), false, true},
	{"an index", inFrame(1, store(1, 8, I32Const(5))+store(1, 12, I32Const(6))+LocalGet(1)+LocalGet(0)+I32Const(1)+I32And+I32Const(4)+I32Mul+I32Add+I32Load(8)+LocalSet(2)) + LocalGet(2), false, true},
	{"a frame within a frame", inFrame(1, store(1, 8, LocalGet(0))+inFrame(2, store(2, 8, I32Const(40))+store(1, 8, load(1, 8)+load(2, 8)+I32Add))+load(1, 8)+LocalSet(2)) + LocalGet(2), true, false},
	{"an open frame within a frame", inFrame(1, store(1, 8, LocalGet(0))+inFrame(2, LocalGet(2)+Call(1)+load(2, 0)+I32Add+LocalSet(0))+load(1, 8)+LocalGet(0)+I32Add+LocalSet(2)) + LocalGet(2), true, true},
	{"two frames in one local", inFrame(1, store(1, 8, LocalGet(0))+load(1, 8)+LocalSet(2)) +
		inFrame(1, store(1, 8, I32Const(40))+load(1, 8)+LocalGet(2)+I32Add+LocalSet(2)) + LocalGet(2), true, false},
	{"a base that is set on one way only", GlobalGet(0) + I32Const(frameSize) + I32Sub + LocalTee(1) + GlobalSet(0) + store(1, 8, I32Const(3)) +
		LocalGet(0) + If(I32Const(64)+LocalSet(1)) + load(1, 8) + GlobalGet(0) + I32Const(frameSize) + I32Add + GlobalSet(0), false, true},
	{"a base that is set later in a loop", inFrame(1, store(1, 8, I32Const(3))+Loop(load(1, 8)+LocalSet(2)+I32Const(64)+LocalSet(1)+
		LocalGet(0)+I32Const(-1)+I32Add+LocalTee(0)+I32Const(0)+I32GtS+BrIf(0))+GlobalGet(0)+LocalSet(1)) + LocalGet(2), false, true},
}

// Promise: a promoted function returns what it did, leaves the stack pointer and the memory above it alike, and never costs more;
// what can be reached through an address stays in memory.
func TestPromote(t *testing.T) {
	for _, c := range promotions {
		wasm := Module{
			Memory:  &Memory{Export: "memory", Size: Size{Min: 1}},
			Globals: []Global{{Export: "sp", Type: I32, Mutable: true, Init: I32Const(stackTop)}},
			Funcs: []Func{
				{Export: "f", Params: I32, Results: I32, Locals: I32 + I32, Body: c.body},
				{Params: I32, Results: I32, Body: LocalGet(0) + I32Const(7) + I32Store(0) + I32Const(5)},
			},
		}.Bytes()
		promoted, err := fuel.Promote(wasm)
		require.NoError(t, err, c.name)
		before, after := meter(t, 0, wasm, fuel.Options{}), meter(t, 0, promoted, fuel.Options{})
		for arg := range uint64(5) {
			want, got := before.call(1<<20, "f", arg), after.call(1<<20, "f", arg)
			require.False(t, want.failed, c.name)
			require.Equal(t, want.results, got.results, "%s of %d", c.name, arg)
			require.Equal(t, before.get("sp"), after.get("sp"), c.name)
			require.Equal(t, before.memory()[stackTop:], after.memory()[stackTop:], c.name)
			if c.moved {
				require.Greater(t, got.left, want.left, c.name)
			} else {
				require.Equal(t, want.left, got.left, c.name)
			}
		}
		require.Equal(t, c.still, len(after.memory()) > 0 && touched(after.memory()[:stackTop]), c.name)
	}
}

func touched(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return true
		}
	}
	return false
}

// Promise: a module that does not parse is refused.
func TestPromoteRefuses(t *testing.T) {
	_, err := fuel.Promote([]byte("\x00asm\x01\x00\x00\x00\x0a\x05"))
	require.ErrorAs(t, err, new(*fuel.Refused))
}
