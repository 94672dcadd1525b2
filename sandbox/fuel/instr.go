package fuel

// instr is one decoded instruction.
type instr struct {
	op       opcode
	shape    shape
	pos, end int
	// a and b are the immediates in their order: labels, indices, alignment and offset, an i32 constant; for a block, a is its type
	// index where typed is set.
	a, b  uint32
	typed bool
	// value is the result type of a block without a type index, or 0; or the type of ref.null.
	value ValueType
	// labels are the targets of br_table, the default last. They are valid until the next instruction.
	labels []uint32
}

// isBulk reports whether the instruction is charged by its topmost operand as well.
func (in *instr) isBulk() bool {
	switch in.op {
	case opMemoryGrow, opMemoryInit, opMemoryCopy, opMemoryFill, opTableInit, opTableCopy, opTableGrow, opTableFill:
		return true
	}
	return false
}

// bulk is the edit of such an instruction.
func (in *instr) bulk() edit {
	index := in.a
	if in.op == opTableInit {
		index = in.b
	}
	return edit{pos: in.pos, end: in.end, kind: bulk, op: in.op, index: index}
}

// decoder reads instructions from a function body.
type decoder struct {
	reader
	in instr
}

// next reads one instruction into d.in, or returns false at the end or after a failure.
func (d *decoder) next() bool {
	if !d.more() {
		return false
	}
	in := &d.in
	labels := in.labels[:0]
	*in = instr{pos: d.pos, labels: labels}
	first := d.u8()
	switch opcode(first) {
	case prefixMisc:
		d.prefixed(miscShapes, prefixMisc)
	case prefixSIMD:
		d.prefixed(simdShapes, prefixSIMD)
	default:
		in.op, in.shape = opcode(first), coreShapes[first]
	}
	if d.bad == nil && in.shape.imm == immUnknown {
		d.unknown(first)
	}
	if in.shape.imm != immNone {
		d.immediates()
	}
	in.end = d.pos
	return d.bad == nil
}

func (d *decoder) prefixed(set *instructionSet, prefix opcode) {
	if sub := d.u32(); sub < uint32(len(set)) {
		d.in.op, d.in.shape = prefix<<8|opcode(sub), set[sub]
	}
}

func (d *decoder) unknown(first byte) {
	switch name := proposal(first); {
	case name != "":
		d.fail(Unsupported, d.in.pos, "opcode 0x%02x belongs to the %s proposal: build without it", first, name)
	case opcode(first) == prefixSIMD:
		d.fail(Unsupported, d.in.pos, "unknown vector instruction (relaxed SIMD is not deterministic): build without it")
	default:
		d.fail(Malformed, d.in.pos, "unknown opcode 0x%02x", first)
	}
}

func (d *decoder) immediates() {
	in := &d.in
	switch in.shape.imm {
	case immBlock:
		d.blockType()
	case immLabel, immFunc, immLocal, immGlobal, immTable, immData, immElem:
		in.a = d.u32()
	case immLabels:
		for n := d.count(); n >= 0 && d.bad == nil; n-- {
			in.labels = append(in.labels, d.u32())
		}
	case immIndirect, immElemTable, immTableTable:
		in.a, in.b = d.u32(), d.u32()
	case immTypes:
		for n := d.count(); n > 0 && d.bad == nil; n-- {
			d.valueType()
		}
	case immMem, immMemLane:
		if in.a = d.u32(); in.a >= 0x40 {
			d.fail(Unsupported, in.pos, "alignment %d: multiple memories and memory64 are not supported", in.a)
		}
		in.b = d.u32()
		if in.shape.imm == immMemLane {
			d.u8()
		}
	case immZero:
		d.memoryZero()
	case immZeroZero:
		d.memoryZero()
		d.memoryZero()
	case immDataZero:
		in.a = d.u32()
		d.memoryZero()
	case immI32:
		in.a = uint32(d.signed(32))
	case immI64:
		d.signed(64)
	case imm4:
		d.bytes(4)
	case imm8:
		d.bytes(8)
	case imm16:
		d.bytes(16)
	case immRef:
		if in.value = d.valueType(); d.bad == nil && !in.value.isRef() {
			d.fail(Malformed, in.pos, "ref.null of %s", in.value)
		}
	case immLane:
		d.u8()
	}
}

func (d *decoder) memoryZero() {
	if at := d.pos; d.u8() != 0 {
		d.fail(Unsupported, at, "a memory other than 0: multiple memories are not supported")
	}
}

// blockType reads 0x40 (nothing), a value type or the index of a function type.
func (d *decoder) blockType() {
	start := d.pos
	switch t := d.signed(33); {
	case d.bad != nil:
	case t == -64:
	case t >= 0:
		d.in.a, d.in.typed = uint32(t), true
	default:
		if d.in.value = ValueType(t & 0x7f); d.pos > start+1 || !d.in.value.known() {
			d.fail(Malformed, start, "block type %d", t)
		}
	}
}

func (r *reader) valueType() ValueType {
	start := r.pos
	v := ValueType(r.u8())
	if r.bad == nil && !v.known() {
		r.fail(Unsupported, start, "%s is not a value type of core 2.0", v)
	}
	return v
}
