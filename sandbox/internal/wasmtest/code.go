package wasmtest

import (
	"encoding/binary"
	"math"
	"strings"
)

// Code is a sequence of instructions.
type Code string

// Instructions without immediates.
const (
	Unreachable Code = "\x00"
	Nop         Code = "\x01"
	Else        Code = "\x05"
	End         Code = "\x0b"
	Return      Code = "\x0f"
	Drop        Code = "\x1a"
	Select      Code = "\x1b"
	MemorySize  Code = "\x3f\x00"
	MemoryGrow  Code = "\x40\x00"

	I32Eqz  Code = "\x45"
	I32Eq   Code = "\x46"
	I32Ne   Code = "\x47"
	I32LtS  Code = "\x48"
	I32LtU  Code = "\x49"
	I32GtS  Code = "\x4a"
	I32GeU  Code = "\x4f"
	I64Eqz  Code = "\x50"
	I64LtS  Code = "\x53"
	I32Add  Code = "\x6a"
	I32Sub  Code = "\x6b"
	I32Mul  Code = "\x6c"
	I32DivS Code = "\x6d"
	I32DivU Code = "\x6e"
	I32RemU Code = "\x70"
	I32And  Code = "\x71"
	I32Xor  Code = "\x73"
	I32ShrU Code = "\x76"
	I64Add  Code = "\x7c"
	I64Sub  Code = "\x7d"
	I64Mul  Code = "\x7e"
	F32Add  Code = "\x92"
	F64Add  Code = "\xa0"
	F64Div  Code = "\xa3"

	MemoryCopy Code = "\xfc\x0a\x00\x00"
	MemoryFill Code = "\xfc\x0b\x00"
)

// op encodes an opcode with unsigned immediates.
func op(opcode Code, immediates ...uint32) Code {
	return opcode + Code(strings.Join(each(immediates, U32), ""))
}

// Block, Loop and If hold instructions and have no parameters and no results.
func Block(body ...Code) Code { return BlockOf("\x40", body...) }

// BlockOf is a block with one result, or of the type whose index is encoded in result.
func BlockOf(result Types, body ...Code) Code { return "\x02" + Code(result) + join(body) + End }

// Loop repeats on Br to itself.
func Loop(body ...Code) Code { return "\x03\x40" + join(body) + End }

// If runs its body if the operand is not zero.
func If(body ...Code) Code { return "\x04\x40" + join(body) + End }

// IfOf is an if with both branches and one result.
func IfOf(result Types, then, otherwise Code) Code {
	return "\x04" + Code(result) + then + Else + otherwise + End
}

func join(body []Code) Code {
	var all Code
	for _, c := range body {
		all += c
	}
	return all
}

// Repeat returns n copies of the instructions.
func Repeat(n int, body Code) Code { return Code(strings.Repeat(string(body), n)) }

// Br branches to the label.
func Br(label uint32) Code { return op("\x0c", label) }

// BrIf branches to the label if the operand is not zero.
func BrIf(label uint32) Code { return op("\x0d", label) }

// BrTable branches to the label that the operand selects; the last one is the default.
func BrTable(labels ...uint32) Code {
	return op("\x0e", append([]uint32{uint32(len(labels) - 1)}, labels...)...)
}

// Call calls a function.
func Call(function uint32) Code { return op("\x10", function) }

// CallIndirect calls through a table.
func CallIndirect(typeIndex, table uint32) Code { return op("\x11", typeIndex, table) }

// LocalGet reads a local.
func LocalGet(i uint32) Code { return op("\x20", i) }

// LocalSet writes a local.
func LocalSet(i uint32) Code { return op("\x21", i) }

// LocalTee writes a local and keeps the value.
func LocalTee(i uint32) Code { return op("\x22", i) }

// GlobalGet reads a global.
func GlobalGet(i uint32) Code { return op("\x23", i) }

// GlobalSet writes a global.
func GlobalSet(i uint32) Code { return op("\x24", i) }

// TableSet writes a table entry.
func TableSet(table uint32) Code { return op("\x26", table) }

// I32Load and the other accesses take a constant offset; their alignment is 1.
func I32Load(offset uint32) Code { return op("\x28", 0, offset) }

// I64Load loads an i64.
func I64Load(offset uint32) Code { return op("\x29", 0, offset) }

// I32Load8U loads a byte.
func I32Load8U(offset uint32) Code { return op("\x2d", 0, offset) }

// I32Store stores an i32.
func I32Store(offset uint32) Code { return op("\x36", 0, offset) }

// I64Store stores an i64.
func I64Store(offset uint32) Code { return op("\x37", 0, offset) }

// I32Store8 stores a byte.
func I32Store8(offset uint32) Code { return op("\x3a", 0, offset) }

// I32Const is a constant.
func I32Const(v int32) Code { return "\x41" + Code(S64(int64(v))) }

// I64Const is a constant.
func I64Const(v int64) Code { return "\x42" + Code(S64(v)) }

// F32Const is a constant.
func F32Const(v float32) Code {
	return "\x43" + Code(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
}

// F64Const is a constant.
func F64Const(v float64) Code {
	return "\x44" + Code(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

// V128Const is a constant, low half first.
func V128Const(low, high uint64) Code {
	return "\xfd\x0c" + Code(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low), high))
}

// RefNull is the null reference of a type.
func RefNull(t Types) Code { return "\xd0" + Code(t) }

// RefFunc is a reference to a function.
func RefFunc(function uint32) Code { return op("\xd2", function) }

// MemoryInit copies from a data segment.
func MemoryInit(segment uint32) Code { return op("\xfc\x08", segment, 0) }

// DataDrop drops a data segment.
func DataDrop(segment uint32) Code { return op("\xfc\x09", segment) }

// TableInit copies from an element segment.
func TableInit(segment, table uint32) Code { return op("\xfc\x0c", segment, table) }

// TableCopy copies entries.
func TableCopy(to, from uint32) Code { return op("\xfc\x0e", to, from) }

// TableGrow grows a table.
func TableGrow(table uint32) Code { return op("\xfc\x0f", table) }

// TableFill fills entries.
func TableFill(table uint32) Code { return op("\xfc\x11", table) }
