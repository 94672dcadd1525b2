package fuel

// meter rewrites function bodies. A body that needs it is wrapped so that everything out of fuel or too deep leaves by one trap:
//
//	block                 ;; $trap
//	  fuel -= price; depth -= weight; br_if $trap (either < 0)
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
	if p.wrap {
		w.raw(byte(opBlock), 0x40)
	}
	w.enter(p)
	if !p.wrap {
		w.code(p)
		return
	}
	w.blockType(p.results)
	w.code(p)
	if p.calls {
		w.op(opGlobalGet, w.depth)
		w.i64(int64(p.weight))
		w.op(opI64Add)
		w.op(opGlobalSet, w.depth)
	}
	w.raw(byte(opReturn), byte(opEnd), byte(opUnreachable), byte(opEnd))
}

// enter charges the first metered block and, if the function calls, takes depth; one check does for both.
func (w *meter) enter(p *plan) {
	entry := &p.edits[0]
	if !p.calls {
		w.charge(p, entry, 0)
		return
	}
	w.take(w.fuel, entry.cost)
	w.keep(w.fuel, p.left)
	w.take(w.depth, p.weight)
	w.keep(w.depth, p.left)
	w.op(opI64Or)
	w.trapIfNegative(0)
}

// locals copies the declarations and appends those that the plan needs.
func (w *meter) locals(start int, p *plan) {
	if !p.wrap {
		w.raw(w.m.wasm[start:p.code.start]...)
		return
	}
	r := reader{buf: w.m.wasm, pos: start, end: p.code.start}
	w.u32(r.u32() + 2)
	w.raw(r.buf[r.pos:r.end]...)
	w.raw(1, byte(I64), 1, byte(I32))
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

// code copies the instructions with the edits of the plan but the first.
func (w *meter) code(p *plan) {
	from := p.code.start
	for i := range p.edits[1:] {
		e := &p.edits[1+i]
		w.raw(w.m.wasm[from:e.pos]...)
		from = e.pos
		switch {
		case e.kind == bulk:
			w.bulk(p, e)
		case e.kind == leave && p.calls:
			w.op(opBr, uint32(e.nest))
			from++
		case e.kind == charge:
			w.charge(p, e, e.nest+1)
		}
	}
	w.raw(w.m.wasm[from:p.code.end]...)
}

// charge subtracts the price of a metered block and, if the block asks for it, leaves for the trap when fuel is out.
func (w *meter) charge(p *plan, e *edit, trap int) {
	switch {
	case e.check:
		w.take(w.fuel, e.cost)
		w.keep(w.fuel, p.left)
		w.trapIfNegative(trap)
	case e.cost > 0:
		w.take(w.fuel, e.cost)
		w.op(opGlobalSet, w.fuel)
	}
}

// take puts a counter less a constant on the stack.
func (w *meter) take(global uint32, n uint64) {
	w.op(opGlobalGet, global)
	if n > 0 {
		w.i64(int64(n))
		w.op(opI64Sub)
	}
}

// keep stores the operand in a counter and keeps it on the stack.
func (w *meter) keep(global, local uint32) {
	w.op(opLocalTee, local)
	w.op(opGlobalSet, global)
	w.op(opLocalGet, local)
}

// trapIfNegative leaves for the trap if the operand is below zero.
func (w *meter) trapIfNegative(label int) {
	w.i64(0)
	w.op(opI64LtS)
	w.op(opBrIf, uint32(label))
}

// bulk charges by the operand on top of the stack, before the instruction runs. The charge is below 2^33 for memory and tables of
// the module itself (2^48 if they are imported), so that no sum of charges between two checks comes near the range of the counter.
func (w *meter) bulk(p *plan, e *edit) {
	scratch := p.left + 1
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
	w.keep(w.fuel, p.left)
	w.trapIfNegative(e.nest + 1)
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
