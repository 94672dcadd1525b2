package binary

import "encoding/binary"

// Encoder appends to a module under construction.
type Encoder struct{ Out []byte }

// Raw appends bytes.
func (e *Encoder) Raw(b ...byte) { e.Out = append(e.Out, b...) }

// U32 appends an unsigned LEB128 number.
func (e *Encoder) U32(v uint32) { e.Out = binary.AppendUvarint(e.Out, uint64(v)) }

// Signed appends a signed LEB128 number.
func (e *Encoder) Signed(v int64) {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			e.Raw(b)
			return
		}
		e.Raw(b | 0x80)
	}
}

// Name appends a name.
func (e *Encoder) Name(s string) {
	e.U32(uint32(len(s)))
	e.Raw([]byte(s)...)
}

// Types appends a vector of value types.
func (e *Encoder) Types(list []ValueType) {
	e.U32(uint32(len(list)))
	for _, v := range list {
		e.Raw(byte(v))
	}
}

// Size appends the limits of a memory or table.
func (e *Encoder) Size(r Range) {
	if !r.HasMax {
		e.Raw(0)
		e.U32(r.Min)
		return
	}
	e.Raw(1)
	e.U32(r.Min)
	e.U32(r.Max)
}

// Op appends an instruction with unsigned immediates.
func (e *Encoder) Op(op Opcode, immediates ...uint32) {
	if op > 0xff {
		e.Raw(byte(op >> 8))
		e.U32(uint32(op & 0xff))
	} else {
		e.Raw(byte(op))
	}
	for _, i := range immediates {
		e.U32(i)
	}
}

// I32 appends a constant.
func (e *Encoder) I32(v uint32) {
	e.Op(OpI32Const)
	e.Signed(int64(int32(v)))
}

// I64 appends a constant.
func (e *Encoder) I64(v int64) {
	e.Op(OpI64Const)
	e.Signed(v)
}
