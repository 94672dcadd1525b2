package fuel

// meter rewrites function bodies. Where the fuel at hand is out, or depth, a check calls the helper refill, which traps if there is
// no more. A function that calls takes depth, and a loop has its refill outside, so that no call is in the way of the compiler:
//
//	fuel -= price; depth -= weight; if (either < 0) refill
//	block (results)           ;; what was a branch to the function's own label ends here
//	  …
//	  block (results)         ;; $done
//	    loop (results)        ;; $again
//	      block               ;; $cold
//	        loop (results)    ;; the loop itself
//	          fuel -= price; br_if $cold (fuel < 0)
//	          …
//	        end
//	        br $done
//	      end
//	      refill; fuel += price
//	      br $again
//	    end
//	  end
//	  …
//	end
//	depth += weight
type meter struct {
	encoder
	m                    *module
	fuel, depth, reserve uint32
	// types maps the signatures of blocks and helpers to the indices of the types appended, which extra lists.
	types map[string]uint32
	extra []FuncType
	// slice is that of Options; helpers are the functions appended.
	slice   uint32
	helpers []helper
}

// newMeter assigns the indices behind those of the module.
func newMeter(m *module, slice uint32) *meter {
	n := uint32(len(m.info.Globals))
	return &meter{m: m, fuel: n, depth: n + 1, reserve: n + 2, types: map[string]uint32{}, slice: slice}
}

// counters names the globals appended, in the order of their indices.
func counters() []string { return []string{FuelGlobal, DepthGlobal, ReserveGlobal} }

// body appends the metered body that begins at start, without its size.
func (w *meter) body(start int, p *plan) {
	w.locals(start, p)
	if !p.calls {
		w.charge(p, &p.edits[0])
		w.code(p)
		return
	}
	w.raw(byte(opLoop))
	w.blockType(p.results)
	w.raw(byte(opBlock), 0x40)
	w.enter(p)
	w.raw(byte(opBlock))
	w.blockType(p.results)
	w.code(p)
	w.give(w.depth, p.weight)
	w.op(opReturn)
	w.op(opEnd)
	w.op(opCall, w.helperIndex(opNop, 0))
	w.give(w.fuel, p.edits[0].cost)
	w.give(w.depth, p.weight)
	w.op(opBr, 0)
	w.op(opEnd)
	w.op(opEnd)
}

// give adds a constant to a counter.
func (w *meter) give(global uint32, n uint64) {
	w.op(opGlobalGet, global)
	w.i64(int64(n))
	w.op(opI64Add)
	w.op(opGlobalSet, global)
}

// enter charges the first metered block and, if the function calls, takes depth; one check does for both.
func (w *meter) enter(p *plan) {
	w.take(w.fuel, p.edits[0].cost)
	w.keep(w.fuel, p.left)
	w.take(w.depth, p.weight)
	w.keep(w.depth, p.left)
	w.op(opI64Or)
	w.negative()
	w.op(opBrIf, 0)
}

// locals copies the declarations and appends those that the plan needs.
func (w *meter) locals(start int, p *plan) {
	if !p.checks {
		w.raw(w.m.wasm[start:p.code.start]...)
		return
	}
	r := reader{buf: w.m.wasm, pos: start, end: p.code.start}
	w.u32(r.u32() + 2)
	w.raw(r.buf[r.pos:r.end]...)
	w.raw(1, byte(I64), 1, byte(I32))
}

func (w *meter) blockType(results []ValueType) {
	switch len(results) {
	case 0:
		w.raw(0x40)
	case 1:
		w.raw(byte(results[0]))
	default:
		w.signed(int64(w.typeIndex(FuncType{Results: results})))
	}
}

func (w *meter) typeIndex(t FuncType) uint32 {
	key := new(encoder)
	key.types(t.Params)
	key.types(t.Results)
	index, ok := w.types[string(key.out)]
	if !ok {
		index = uint32(len(w.m.types) + len(w.extra))
		w.types[string(key.out)] = index
		w.extra = append(w.extra, t)
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
		switch e.kind {
		case charge:
			w.charge(p, e)
		case bulk:
			w.bulk(p, e)
			if w.chunked(e) {
				w.op(opCall, w.helperIndex(e.op, e.index))
				from = e.end
			}
		case leave:
			if p.calls {
				w.op(opBr, e.labels[0])
				from = e.end
			}
		case openLoop:
			blockType := w.m.wasm[e.pos+1 : e.end]
			w.raw(byte(opBlock))
			w.raw(blockType...)
			w.raw(byte(opLoop))
			w.raw(blockType...)
			w.raw(byte(opBlock), 0x40)
		case closeLoop:
			w.op(opBr, loopBlocks-1)
			w.op(opEnd)
			w.op(opCall, w.helperIndex(opNop, 0))
			w.give(w.fuel, p.edits[e.head].cost) // the head charges again
			w.op(opBr, 0)
			w.raw(byte(opEnd), byte(opEnd))
		case relabel:
			w.branch(e)
			from = e.end
		}
	}
	w.raw(w.m.wasm[from:p.code.end]...)
}

// branch writes a branch to other labels.
func (w *meter) branch(e *edit) {
	w.op(e.op)
	if e.op == opBrTable {
		w.u32(uint32(len(e.labels) - 1))
	}
	for _, l := range e.labels {
		w.u32(l)
	}
}

// charge subtracts the price of a metered block and, if the block asks for it, refills when fuel is out.
func (w *meter) charge(p *plan, e *edit) {
	switch {
	case e.check:
		w.take(w.fuel, e.cost)
		w.keep(w.fuel, p.left)
		if e.wrapped {
			w.negative()
			w.op(opBrIf, 1)
		} else {
			w.refillIfNegative()
		}
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

// negative replaces the operand by whether it is below zero.
func (w *meter) negative() {
	w.i64(0)
	w.op(opI64LtS)
}

// refillIfNegative refills if the operand is below zero.
func (w *meter) refillIfNegative() {
	w.negative()
	w.raw(byte(opIf), 0x40)
	w.op(opCall, w.helperIndex(opNop, 0))
	w.op(opEnd)
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
		limit := w.m.info.Tables[e.index].most(w.m.lim.TableEntries)
		w.growth(entryPrice, limit, scratch, func() { w.op(opTableSize, e.index) })
	case opMemoryFill, opMemoryCopy, opMemoryInit:
		w.i64(bytesPerFuel - 1)
		w.op(opI64Add)
		w.i64(3)
		w.op(opI64ShrU)
	}
	w.op(opI64Sub)
	w.keep(w.fuel, p.left)
	w.refillIfNegative()
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
