package fuel

// helper is an appended function: refill (opNop), or a bulk memory instruction with its data segment.
type helper struct {
	op        opcode
	segment   uint32
	typeIndex uint32
}

// helperIndex returns the index of a helper's function, which it appends at first use.
func (w *meter) helperIndex(op opcode, segment uint32) uint32 {
	first := uint32(len(w.m.funcs))
	for i, h := range w.helpers {
		if h.op == op && h.segment == segment {
			return first + uint32(i)
		}
	}
	var t FuncType
	if op != opNop {
		t.Params = []ValueType{I32, I32, I32}
	}
	w.helpers = append(w.helpers, helper{op, segment, w.typeIndex(t)})
	return first + uint32(len(w.helpers)) - 1
}

// chunk is the number of bytes that a slice pays for.
func (w *meter) chunk() uint64 { return uint64(w.slice) * bytesPerFuel }

// chunked reports whether a helper takes the place of a bulk instruction.
func (w *meter) chunked(e *edit) bool {
	switch e.op {
	case opMemoryFill, opMemoryCopy:
		return true
	case opMemoryInit:
		return uint64(w.m.dataSizes[e.index]) > w.chunk()
	}
	return false
}

// helper returns the body of a helper.
func (w *meter) helper(h helper) []byte {
	w.out = w.out[:0]
	if h.op == opNop {
		w.refill()
	} else {
		w.inChunks(h)
	}
	w.op(opEnd)
	return w.out
}

// refill moves a slice from the reserve to fuel, after the deficit, or traps.
func (w *meter) refill() {
	const left = 0
	w.raw(1, 1, byte(I64))
	w.op(opGlobalGet, w.fuel)
	w.op(opGlobalGet, w.reserve)
	w.op(opI64Add)
	w.op(opLocalTee, left)
	w.op(opGlobalGet, w.depth)
	w.op(opI64Or)
	w.i64(0)
	w.op(opI64LtS)
	w.raw(byte(opIf), 0x40, byte(opUnreachable), byte(opEnd))
	w.op(opLocalGet, left)
	w.i64(int64(w.slice))
	w.op(opLocalGet, left)
	w.i64(int64(w.slice))
	w.op(opI64LtS)
	w.op(opSelect)
	w.op(opGlobalSet, w.fuel)
	w.op(opLocalGet, left)
	w.op(opGlobalGet, w.fuel)
	w.op(opI64Sub)
	w.op(opGlobalSet, w.reserve)
	w.pass()
}

// pass goes through Go: growing by nothing does in wazero's compiled code, and in its interpreter everything does.
func (w *meter) pass() {
	w.i32(0)
	w.op(opMemoryGrow, 0)
	w.op(opDrop)
}

// The parameters of a bulk memory instruction; from is the value of a memory.fill.
const (
	bulkTo = iota
	bulkFrom
	bulkSize
)

// inChunks does a bulk instruction from its end to its beginning, or forward where a copy would else overwrite what it has yet to
// read. What is out of bounds is left to the instruction itself, which traps before it writes.
func (w *meter) inChunks(h helper) {
	w.raw(0)
	whole := func() { w.bulkOp(h, bulkTo, bulkFrom, bulkSize) }
	memory := func() { w.op(opMemorySize, 0); w.op(opI64ExtendU); w.i64(16); w.op(opI64Shl) }
	w.beyond(bulkTo, memory, whole)
	switch h.op {
	case opMemoryInit:
		w.beyond(bulkFrom, func() { w.i64(int64(w.m.dataSizes[h.segment])) }, whole)
	case opMemoryCopy:
		w.beyond(bulkFrom, memory, whole)
		w.op(opLocalGet, bulkFrom)
		w.op(opLocalGet, bulkTo)
		w.op(opI32GtU)
		w.raw(byte(opIf), 0x40)
		w.eachChunk(func(shrink func()) {
			w.chunkOp(h, false)
			w.advance(bulkTo)
			w.advance(bulkFrom)
			shrink()
		})
		w.op(opEnd)
	}
	w.eachChunk(func(shrink func()) {
		shrink()
		w.chunkOp(h, true)
	})
	whole()
}

// beyond leaves the function after doing instead if a range begins at a parameter and ends beyond limit.
func (w *meter) beyond(at uint32, limit, instead func()) {
	w.op(opLocalGet, at)
	w.op(opI64ExtendU)
	w.op(opLocalGet, bulkSize)
	w.op(opI64ExtendU)
	w.op(opI64Add)
	limit()
	w.op(opI64GtU)
	w.raw(byte(opIf), 0x40)
	instead()
	w.op(opReturn)
	w.op(opEnd)
}

// eachChunk repeats body, which shrinks the size by a chunk, while there is more than one.
func (w *meter) eachChunk(body func(shrink func())) {
	w.raw(byte(opBlock), 0x40, byte(opLoop), 0x40)
	w.op(opLocalGet, bulkSize)
	w.chunkSize()
	w.op(opI32LeU)
	w.op(opBrIf, 1)
	body(func() {
		w.op(opLocalGet, bulkSize)
		w.chunkSize()
		w.op(opI32Sub)
		w.op(opLocalSet, bulkSize)
	})
	w.pass()
	w.op(opBr, 0)
	w.raw(byte(opEnd), byte(opEnd))
}

// chunkSize puts the size of a chunk on the stack, or the largest that there can be.
func (w *meter) chunkSize() { w.i32(uint32(min(w.chunk(), 1<<32-1))) }

// chunkOp does the first chunk, or the one that begins where the size, shrunk already, ends.
func (w *meter) chunkOp(h helper, behind bool) {
	place := func(at uint32) {
		w.op(opLocalGet, at)
		if behind {
			w.op(opLocalGet, bulkSize)
			w.op(opI32Add)
		}
	}
	place(bulkTo)
	if h.op == opMemoryFill {
		w.op(opLocalGet, bulkFrom)
	} else {
		place(bulkFrom)
	}
	w.chunkSize()
	w.instruction(h)
}

func (w *meter) advance(local uint32) {
	w.op(opLocalGet, local)
	w.chunkSize()
	w.op(opI32Add)
	w.op(opLocalSet, local)
}

func (w *meter) bulkOp(h helper, operands ...uint32) {
	for _, local := range operands {
		w.op(opLocalGet, local)
	}
	w.instruction(h)
}

func (w *meter) instruction(h helper) {
	switch h.op {
	case opMemoryFill:
		w.op(h.op, 0)
	case opMemoryCopy:
		w.op(h.op, 0, 0)
	case opMemoryInit:
		w.op(h.op, h.segment, 0)
	}
}
