package fuel

import (
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/gate"
)

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
	binary.Encoder
	m                    *gate.Module
	fuel, depth, reserve uint32
	// types maps the signatures of blocks and helpers to the indices of the types appended, which extra lists.
	types map[string]uint32
	extra []FuncType
	// slice is that of Options; helpers are the functions appended.
	slice   uint32
	helpers []helper
	// canonical makes NaNs canonical in the function at hand.
	canonical canonical
}

// newMeter assigns the indices after those of the module.
func newMeter(m *gate.Module, slice uint32) *meter {
	n := uint32(len(m.Info.Globals))
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
	w.Raw(byte(binary.OpLoop))
	w.blockType(p.results)
	w.Raw(byte(binary.OpBlock), 0x40)
	w.enter(p)
	w.Raw(byte(binary.OpBlock))
	w.blockType(p.results)
	w.code(p)
	w.give(w.depth, p.weight)
	w.Op(binary.OpReturn)
	w.Op(binary.OpEnd)
	w.Op(binary.OpCall, w.helperIndex(binary.OpNop, 0))
	w.give(w.fuel, p.edits[0].cost)
	w.give(w.depth, p.weight)
	w.Op(binary.OpBr, 0)
	w.Op(binary.OpEnd)
	w.Op(binary.OpEnd)
}

// give adds a constant to a counter.
func (w *meter) give(global uint32, n uint64) {
	w.Op(binary.OpGlobalGet, global)
	w.I64(int64(n))
	w.Op(binary.OpI64Add)
	w.Op(binary.OpGlobalSet, global)
}

// enter charges the first metered block and, if the function calls, takes depth; one check does for both.
func (w *meter) enter(p *plan) {
	w.take(w.fuel, p.edits[0].cost)
	w.keep(w.fuel, p.left)
	w.take(w.depth, p.weight)
	w.keep(w.depth, p.left)
	w.Op(binary.OpI64Or)
	w.negative()
	w.Op(binary.OpBrIf, 0)
}

// locals copies the declarations and appends those that the plan needs.
func (w *meter) locals(start int, p *plan) {
	var more []ValueType
	if p.checks {
		more = append(more, I64, I32)
	}
	more = append(more, w.canonical.locals(p.nans, p.left+uint32(len(more)))...)
	r := binary.Reader{Buf: w.m.Wasm, Pos: start, End: p.code.Start}
	w.U32(r.U32() + uint32(len(more)))
	w.Raw(r.Buf[r.Pos:r.End]...)
	for _, t := range more {
		w.Raw(1, byte(t))
	}
}

func (w *meter) blockType(results []ValueType) {
	switch len(results) {
	case 0:
		w.Raw(0x40)
	case 1:
		w.Raw(byte(results[0]))
	default:
		w.Signed(int64(w.typeIndex(FuncType{Results: results})))
	}
}

func (w *meter) typeIndex(t FuncType) uint32 {
	key := new(binary.Encoder)
	key.Types(t.Params)
	key.Types(t.Results)
	index, ok := w.types[string(key.Out)]
	if !ok {
		index = uint32(len(w.m.Types) + len(w.extra))
		w.types[string(key.Out)] = index
		w.extra = append(w.extra, t)
	}
	return index
}

// code copies the instructions with the edits of the plan but the first.
func (w *meter) code(p *plan) {
	from := p.code.Start
	for i := range p.edits[1:] {
		e := &p.edits[1+i]
		w.copy(p, from, e.pos)
		from = e.pos
		switch e.kind {
		case charge:
			w.charge(p, e)
		case bulk:
			w.bulk(p, e)
			if w.chunked(e) {
				w.Op(binary.OpCall, w.helperIndex(e.op, e.index))
				from = e.end
			}
		case leave:
			if p.calls {
				w.Op(binary.OpBr, e.labels[0])
				from = e.end
			}
		case openLoop:
			blockType := w.m.Wasm[e.pos+1 : e.end]
			w.Raw(byte(binary.OpBlock))
			w.Raw(blockType...)
			w.Raw(byte(binary.OpLoop))
			w.Raw(blockType...)
			w.Raw(byte(binary.OpBlock), 0x40)
		case closeLoop:
			w.Op(binary.OpBr, loopBlocks-1)
			w.Op(binary.OpEnd)
			w.Op(binary.OpCall, w.helperIndex(binary.OpNop, 0))
			w.give(w.fuel, p.edits[e.head].cost) // the head charges again
			w.Op(binary.OpBr, 0)
			w.Raw(byte(binary.OpEnd), byte(binary.OpEnd))
		case relabel:
			w.branch(e)
			from = e.end
		}
	}
	w.copy(p, from, p.code.End)
}

// copy copies instructions, with NaNs made canonical where the plan says so.
func (w *meter) copy(p *plan, from, to int) {
	for len(p.nans) > 0 && p.nans[0].At <= to {
		w.Raw(w.m.Wasm[from:p.nans[0].At]...)
		from = p.nans[0].At
		w.canonical.write(&w.Encoder, p.nans[0].Lanes)
		p.nans = p.nans[1:]
	}
	w.Raw(w.m.Wasm[from:to]...)
}

// branch writes a branch to other labels.
func (w *meter) branch(e *edit) {
	w.Op(e.op)
	if e.op == binary.OpBrTable {
		w.U32(uint32(len(e.labels) - 1))
	}
	for _, l := range e.labels {
		w.U32(l)
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
			w.Op(binary.OpBrIf, 1)
		} else {
			w.refillIfNegative()
		}
	case e.cost > 0:
		w.take(w.fuel, e.cost)
		w.Op(binary.OpGlobalSet, w.fuel)
	}
}

// take puts a counter less a constant on the stack.
func (w *meter) take(global uint32, n uint64) {
	w.Op(binary.OpGlobalGet, global)
	if n > 0 {
		w.I64(int64(n))
		w.Op(binary.OpI64Sub)
	}
}

// keep stores the operand in a counter and keeps it on the stack.
func (w *meter) keep(global, local uint32) {
	w.Op(binary.OpLocalTee, local)
	w.Op(binary.OpGlobalSet, global)
	w.Op(binary.OpLocalGet, local)
}

// negative replaces the operand by whether it is below zero.
func (w *meter) negative() {
	w.I64(0)
	w.Op(binary.OpI64LtS)
}

// refillIfNegative refills if the operand is below zero.
func (w *meter) refillIfNegative() {
	w.negative()
	w.Raw(byte(binary.OpIf), 0x40)
	w.Op(binary.OpCall, w.helperIndex(binary.OpNop, 0))
	w.Op(binary.OpEnd)
}

// bulk charges by the operand on top of the stack, before the instruction runs. The charge is below 2^33 for memory and tables of
// the module itself (2^48 if they are imported), so that no sum of charges between two checks comes near the range of the counter.
func (w *meter) bulk(p *plan, e *edit) {
	scratch := p.left + 1
	w.Op(binary.OpLocalTee, scratch)
	w.Op(binary.OpGlobalGet, w.fuel)
	w.Op(binary.OpLocalGet, scratch)
	w.Op(binary.OpI64ExtendU)
	switch e.op {
	case binary.OpMemoryGrow:
		limit := uint32(w.m.Limits.MemoryPages)
		if memory := w.m.Info.Memory; memory != nil {
			limit = memory.Most(w.m.Limits.MemoryPages)
		}
		w.growth(pagePrice, limit, scratch, func() { w.Op(binary.OpMemorySize, 0) })
	case binary.OpTableGrow:
		limit := w.m.Info.Tables[e.index].Most(w.m.Limits.TableEntries)
		w.growth(entryPrice, limit, scratch, func() { w.Op(binary.OpTableSize, e.index) })
	case binary.OpMemoryFill, binary.OpMemoryCopy, binary.OpMemoryInit:
		w.I64(bytesPerFuel - 1)
		w.Op(binary.OpI64Add)
		w.I64(3)
		w.Op(binary.OpI64ShrU)
	}
	w.Op(binary.OpI64Sub)
	w.keep(w.fuel, p.left)
	w.refillIfNegative()
}

// growth prices what is added, or nothing if the limit makes the instruction
// fail: a guest that requests too much gets the failure, which it can handle,
// and not an empty tank.
func (w *meter) growth(unit int64, limit, scratch uint32, size func()) {
	w.I64(unit)
	w.Op(binary.OpI64Mul)
	w.I64(0)
	w.Op(binary.OpLocalGet, scratch)
	w.I32(limit)
	size()
	w.Op(binary.OpI32Sub)
	w.Op(binary.OpI32LeU)
	w.Op(binary.OpSelect)
}
