package fuel

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
)

// memcpyDigest is the sha256 of wasi-libc's memcpy as it is compiled for machines without memory.copy: it copies word by word, which
// takes three instructions a byte.
const memcpyDigest = "6d80ead2c3c833a4916acfc9a53164acdb1fece3b85504d5ea3ac69a01ff25ff"

// memcpy does the same.
var memcpy = func() []byte {
	e := &encoder{out: []byte{0}} // no locals
	for parameter := range uint32(3) {
		e.op(opLocalGet, parameter)
	}
	e.op(opMemoryCopy, 0, 0)
	e.op(opLocalGet, 0)
	e.op(opEnd)
	return e.out
}()

// Promote makes a module cheaper that a C compiler made without optimisation: there every variable lies in a frame in memory. Where
// no address within a frame goes anywhere, so that its variables can be reached in no other way, they become locals, and a frame
// in which nothing is left is not taken at all. A memcpy of loops becomes one instruction. Functions keep their numbers and what they
// do. The error is a *Refused.
func Promote(wasm []byte) ([]byte, error) {
	limits := DefaultLimits()
	limits.TableEntries = 1 << 20
	limits.AllowImport = func(Import) bool { return true }
	m := parse(wasm, limits)
	if len(m.refused.Problems) > 0 {
		return nil, &m.refused
	}
	e := encoder{append(make([]byte, 0, len(wasm)), wasm[:8]...)}
	for _, s := range m.sections {
		content := wasm[s.start:s.end]
		if s.id == secCode {
			content = m.promoted()
		}
		e.raw(byte(s.id))
		e.u32(uint32(len(content)))
		e.raw(content...)
	}
	return e.out, nil
}

// promoted is the content of the new code section.
func (m *module) promoted() []byte {
	var code encoder
	code.u32(uint32(len(m.bodies)))
	for i, body := range m.bodies {
		content := m.wasm[body.start:body.end]
		if fmt.Sprintf("%x", sha256.Sum256(content)) == memcpyDigest {
			content = memcpy
		} else if instrs, frames, ok := m.framesOf(i); ok {
			content = m.promote(i, instrs, frames)
		}
		code.u32(uint32(len(content)))
		code.raw(content...)
	}
	return code.out
}

// slot is a variable: a place in a frame that is always read and written in one way.
type slot struct {
	offset, width uint32
	value         ValueType
	accesses      []access
	mixed         bool
	local         uint32
}

// slots groups the accesses of a frame. What overlaps is mixed.
func (f *memoryFrame) slots(code []instr) []*slot {
	at := map[uint32]*slot{}
	var all []*slot
	for _, a := range f.accesses {
		in := &code[a.at]
		value, width := accessOf(in.op)
		s := at[in.b]
		if s == nil {
			s = &slot{offset: in.b, width: width, value: value}
			at[in.b] = s
			all = append(all, s)
		}
		s.mixed = s.mixed || s.width != width || s.value != value || value == V128
		s.width = max(s.width, width)
		s.accesses = append(s.accesses, a)
	}
	slices.SortFunc(all, func(a, b *slot) int { return cmp.Compare(a.offset, b.offset) })
	var far *slot // the one that reaches farthest
	for _, s := range all {
		if far != nil && s.offset < far.offset+far.width {
			s.mixed, far.mixed = true, true
		}
		if far == nil || s.offset+s.width > far.offset+far.width {
			far = s
		}
	}
	return all
}

// accessOf describes a load or store by its type on the stack and its width in memory. Those that are part of an i64 have the
// type v128, which no local is made for.
func accessOf(op opcode) (value ValueType, width uint32) {
	switch op {
	case opI32Load, opI32Store:
		return I32, 4
	case opI64Load, opI64Store:
		return I64, 8
	case opF32Load, opF32Store:
		return F32, 4
	case opF64Load, opF64Store:
		return F64, 8
	case opI32Load8S, opI32Load8U, opI32Store8:
		return I32, 1
	case opI32Load16S, opI32Load16U, opI32Store16:
		return I32, 2
	}
	return V128, 8
}

// promoter writes a new body.
type promoter struct {
	encoder
	set, after int // where the last local.set begins and ends
	last       uint32
}

// mostPromoted bounds what a function gets, since compiling it takes time in proportion to its locals.
const mostPromoted = 64

// localUse is what locals are shared by: frames with one base are never in use at the same time.
type localUse struct {
	base  uint32
	value ValueType
}

// promote returns the body with the variables of its closed frames in locals.
func (m *module) promote(i int, code []instr, frames []*memoryFrame) []byte {
	body := m.bodies[i]
	r := reader{buf: m.wasm, pos: body.start, end: code[0].pos}
	declared, _ := m.locals(&reader{buf: r.buf, pos: r.pos, end: r.end}, m.importedF+i)
	var types []ValueType
	pool := map[localUse][]uint32{}
	gone, slotAt := map[int]bool{}, map[int]*slot{}
	for _, f := range frames {
		if f.open {
			continue
		}
		left, used := false, map[ValueType]int{}
		for _, s := range f.slots(code) {
			use, n := localUse{f.base, s.value}, used[s.value]
			if s.mixed || n == len(pool[use]) && len(types) == mostPromoted {
				left = true
				continue
			}
			if n == len(pool[use]) {
				pool[use] = append(pool[use], uint32(declared+len(types)))
				types = append(types, s.value)
			}
			s.local, used[s.value] = pool[use][n], n+1
			for _, a := range s.accesses {
				gone[a.base], slotAt[a.at] = true, s
			}
		}
		for _, k := range f.keeping {
			if !left {
				gone[k] = true
			}
		}
	}
	if len(gone) == 0 {
		return m.wasm[body.start:body.end]
	}
	var w promoter
	w.u32(r.u32() + uint32(len(types)))
	w.raw(r.buf[r.pos:r.end]...)
	for _, t := range types {
		w.raw(1, byte(t))
	}
	for i := range code {
		in := &code[i]
		switch s := slotAt[i]; {
		case gone[i] && in.op == opLocalTee && !gone[i-1]: // the frame is taken, but its base is not used here
			w.local(opLocalSet, in.a)
		case gone[i]:
		case s != nil:
			w.access(in.op, s)
		case in.op == opLocalGet || in.op == opLocalSet:
			w.local(in.op, in.a)
		default:
			w.raw(m.wasm[in.pos:in.end]...)
		}
	}
	return w.out
}

// local appends an instruction on a local; set and get in a row are tee.
func (w *promoter) local(op opcode, index uint32) {
	if op == opLocalGet && w.after == len(w.out) && w.after > 0 && w.last == index {
		w.out[w.set], w.after = byte(opLocalTee), 0
		return
	}
	at := len(w.out)
	w.op(op, index)
	if op == opLocalSet {
		w.set, w.after, w.last = at, len(w.out), index
	}
}

// access appends what a load or store becomes. A narrow variable is kept without sign.
func (w *promoter) access(op opcode, s *slot) {
	if op >= opI32Store {
		if s.width < 4 {
			w.i32(1<<(8*s.width) - 1)
			w.op(opI32And)
		}
		w.local(opLocalSet, s.local)
		return
	}
	w.local(opLocalGet, s.local)
	switch op {
	case opI32Load8S:
		w.op(opI32Extend8)
	case opI32Load16S:
		w.op(opI32Extend16)
	}
}
