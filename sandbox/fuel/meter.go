package fuel

// meter rewrites function bodies. A body that needs it is wrapped so that everything out of fuel or too deep leaves by one trap:
//
//	block                 ;; $trap
//	  depth -= weight; br_if $trap (depth < 0)
//	  block (results)     ;; $body: what was a branch to the function's own label ends here, with its number unchanged
//	    … metered body …
//	  end
//	  depth += weight
//	  return
//	end
//	unreachable
type meter struct {
	encoder
	m           *module
	fuel, depth uint32
	// types maps result lists of more than one value to the index of a block type; extra lists those appended.
	types map[string]uint32
	extra []FuncType
}

// newMeter assigns the indices behind those of the module.
func newMeter(m *module) *meter {
	n := uint32(len(m.info.Globals))
	return &meter{m: m, fuel: n, depth: n + 1, types: map[string]uint32{}}
}

// body appends the metered body that begins at start, without its size.
func (w *meter) body(start int, p *plan) {
	w.locals(start, p)
	if !p.wrap {
		w.code(p)
		return
	}
	w.raw(byte(opBlock), 0x40)
	if p.calls {
		w.add(w.depth, opI64Sub, p.weight)
		w.trapIf(w.depth, 0)
	}
	w.blockType(p.results)
	w.code(p)
	if p.calls {
		w.add(w.depth, opI64Add, p.weight)
	}
	w.raw(byte(opReturn), byte(opEnd), byte(opUnreachable), byte(opEnd))
}

// locals copies the declarations and appends the scratch local.
func (w *meter) locals(start int, p *plan) {
	if !p.scratch {
		w.raw(w.m.wasm[start:p.code.start]...)
		return
	}
	r := reader{buf: w.m.wasm, pos: start, end: p.code.start}
	w.u32(r.u32() + 1)
	w.raw(r.buf[r.pos:r.end]...)
	w.u32(1)
	w.raw(byte(I32))
}

func (w *meter) blockType(results []ValueType) {
	w.raw(byte(opBlock))
	switch len(results) {
	case 0:
		w.raw(0x40)
	case 1:
		w.raw(byte(results[0]))
	default:
		w.signed(int64(w.typeIndex(results)))
	}
}

func (w *meter) typeIndex(results []ValueType) uint32 {
	key := make([]byte, len(results))
	for i, t := range results {
		key[i] = byte(t)
	}
	index, ok := w.types[string(key)]
	if !ok {
		index = uint32(len(w.m.types) + len(w.extra))
		w.types[string(key)] = index
		w.extra = append(w.extra, FuncType{Results: results})
	}
	return index
}

// code copies the instructions with the edits of the plan.
func (w *meter) code(p *plan) {
	from := p.code.start
	for i := range p.edits {
		e := &p.edits[i]
		w.raw(w.m.wasm[from:e.pos]...)
		from = e.pos
		switch {
		case e.kind == bulk:
			w.bulk(e, uint32(p.params+p.declared))
		case e.kind == leave && p.calls:
			w.op(opBr, uint32(e.nest))
			from++
		case e.kind == charge:
			w.charge(e)
		}
	}
	w.raw(w.m.wasm[from:p.code.end]...)
}

func (w *meter) charge(e *edit) {
	if e.cost > 0 {
		w.add(w.fuel, opI64Sub, e.cost)
	}
	if e.check {
		w.trapIf(w.fuel, e.nest+1)
	}
}

// add adds a constant to a counter, or subtracts it.
func (w *meter) add(global uint32, op opcode, n uint64) {
	w.op(opGlobalGet, global)
	w.i64(int64(n))
	w.op(op)
	w.op(opGlobalSet, global)
}

// trapIf leaves for the trap if a counter is below zero.
func (w *meter) trapIf(global uint32, label int) {
	w.op(opGlobalGet, global)
	w.i64(0)
	w.op(opI64LtS)
	w.op(opBrIf, uint32(label))
}

// bulk charges by the operand on top of the stack, before the instruction runs. The charge is below 2^33 for memory and tables of
// the module itself (2^48 if they are imported), so that no sum of charges between two checks comes near the range of the counter.
func (w *meter) bulk(e *edit, scratch uint32) {
	w.op(opLocalTee, scratch)
	w.op(opGlobalGet, w.fuel)
	w.op(opLocalGet, scratch)
	w.op(opI64ExtendU)
	switch e.op {
	case opMemoryGrow:
		limit := uint32(w.m.lim.MemoryPages)
		if memory := w.m.info.Memory; memory != nil {
			limit = memory.most(w.m.lim.MemoryPages)
		}
		w.growth(pagePrice, limit, scratch, func() { w.op(opMemorySize, 0) })
	case opTableGrow:
		limit := w.m.info.Tables[e.table].most(w.m.lim.TableEntries)
		w.growth(entryPrice, limit, scratch, func() { w.op(opTableSize, e.table) })
	case opMemoryFill, opMemoryCopy, opMemoryInit:
		w.i64(bytesPerFuel - 1)
		w.op(opI64Add)
		w.i64(3)
		w.op(opI64ShrU)
	}
	w.op(opI64Sub)
	w.op(opGlobalSet, w.fuel)
	w.trapIf(w.fuel, e.nest+1)
}

// growth prices what is added, or nothing where the limit makes the instruction fail: a guest that asks for too much shall see the
// failure it can handle, not an empty tank.
func (w *meter) growth(unit int64, limit, scratch uint32, size func()) {
	w.i64(unit)
	w.op(opI64Mul)
	w.i64(0)
	w.op(opLocalGet, scratch)
	w.i32(limit)
	size()
	w.op(opI32Sub)
	w.op(opI32LeU)
	w.op(opSelect)
}
