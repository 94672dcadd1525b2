package fuel

import "encoding/binary"

// encoder appends to a module under construction.
type encoder struct{ out []byte }

func (e *encoder) raw(b ...byte) { e.out = append(e.out, b...) }

func (e *encoder) u32(v uint32) { e.out = binary.AppendUvarint(e.out, uint64(v)) }

// signed appends a signed LEB128 number.
func (e *encoder) signed(v int64) {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			e.raw(b)
			return
		}
		e.raw(b | 0x80)
	}
}

func (e *encoder) name(s string) {
	e.u32(uint32(len(s)))
	e.raw([]byte(s)...)
}

func (e *encoder) types(list []ValueType) {
	e.u32(uint32(len(list)))
	for _, v := range list {
		e.raw(byte(v))
	}
}

func (e *encoder) size(r Range) {
	if !r.HasMax {
		e.raw(0)
		e.u32(r.Min)
		return
	}
	e.raw(1)
	e.u32(r.Min)
	e.u32(r.Max)
}

// op appends an instruction with unsigned immediates.
func (e *encoder) op(op opcode, immediates ...uint32) {
	if op > 0xff {
		e.raw(byte(op >> 8))
		e.u32(uint32(op & 0xff))
	} else {
		e.raw(byte(op))
	}
	for _, i := range immediates {
		e.u32(i)
	}
}

func (e *encoder) i32(v uint32) {
	e.op(opI32Const)
	e.signed(int64(int32(v)))
}

func (e *encoder) i64(v int64) {
	e.op(opI64Const)
	e.signed(v)
}
