package fuel

import (
	"cmp"
	"strconv"
)

// The names under which an instrumented module exports what Merit added. The gate refuses modules that use them.
const (
	// FuelGlobal is a mutable i64: what is left of a slice. The host sets it and ReserveGlobal before every call, and what is left is
	// their sum. Below zero the sum means out of fuel, also after a call that returned: the last stretch of a run may end before the
	// next check.
	FuelGlobal = reservedPrefix + "fuel"
	// DepthGlobal is a mutable i64: the depth that is left. The host sets it before every call, since a trap does not give it back;
	// below zero means that calls were nested too deeply.
	DepthGlobal = reservedPrefix + "depth"
	// ReserveGlobal is a mutable i64: what is left beyond fuel.
	ReserveGlobal = reservedPrefix + "reserve"
	// StartExport is what was the start function, if the module had one. The host calls it after setting fuel and depth.
	StartExport = reservedPrefix + "start"

	statePrefix = reservedPrefix + "state_"
)

// Options configure Instrument.
type Options struct {
	// Limits of the gate. Memory and tables of the instrumented module are declared with maxima within them.
	Limits
	// Slice is the fuel after which the module passes through Go, whose scheduler can then take the processor away. Zero means
	// DefaultSlice.
	Slice uint32
}

// DefaultSlice takes typical code a microsecond. It is small because fuel is not time: measured with 1.5 µs for a page that is touched
// for the first time, and three instructions a page, it takes 4 ms.
const DefaultSlice = 8 << 10

func (o Options) slice() uint32 { return cmp.Or(o.Slice, DefaultSlice) }

// StateGlobal is a mutable global of the guest, exported so that its value can be saved and restored.
type StateGlobal struct {
	Name string
	Type ValueType
}

// Instrumented is a metered module.
type Instrumented struct {
	Wasm []byte
	// Info describes the original module.
	Info *Info
	// State lists the guest's own mutable globals of number type, in the order of their indices.
	State []StateGlobal
	// Start is StartExport if the module had a start function, else empty.
	Start string
	// Slice is that of Options: what the host gives out first, at most.
	Slice uint32
}

// Inspect parses a module and refuses what can hurt the compiler or the host. It takes time and memory in proportion to
// min(len(wasm), Limits.Bytes). It does not check types: a runtime has to validate the module as well. The error is a *Refused.
func Inspect(wasm []byte, limits Limits) (*Info, error) {
	m := parse(wasm, limits)
	if len(m.refused.Problems) > 0 {
		return nil, &m.refused
	}
	return m.info, nil
}

// Instrument inspects a module and rewrites it so that it counts fuel and depth and exports its state. The original must be
// validated by a runtime before the result is used. The error is a *Refused.
func Instrument(wasm []byte, options Options) (*Instrumented, error) {
	m := parse(wasm, options.Limits)
	if len(m.refused.Problems) > 0 {
		return nil, &m.refused
	}
	return m.rewrite(m.plan, options.slice()), nil
}

// rewrite puts the metered module together; plan decides what to do with each function.
func (m *module) rewrite(plan func(defined int) *plan, slice uint32) *Instrumented {
	w := newMeter(m, slice)
	code := w.bodies(plan)
	result := &Instrumented{Info: m.info, Slice: slice}
	b := builder{encoder{make([]byte, 0, len(m.wasm)+len(code))}, m, w, code, result}
	b.build()
	result.Wasm = b.out
	return result
}

// bodies returns the content of the metered code section.
func (w *meter) bodies(plan func(defined int) *plan) []byte {
	code := encoder{out: make([]byte, 0, w.m.info.CodeBytes+w.m.info.CodeBytes/2+16)}
	for i := range w.m.bodies {
		w.out = w.out[:0]
		w.body(w.m.bodies[i].start, plan(i))
		code.u32(uint32(len(w.out)))
		code.raw(w.out...)
	}
	for _, h := range w.helpers {
		body := w.helper(h)
		code.u32(uint32(len(body)))
		code.raw(body...)
	}
	count := encoder{}
	count.u32(uint32(len(w.m.bodies) + len(w.helpers)))
	return append(count.out, code.out...)
}

// builder puts the metered module together: the sections in their order, those that grow rewritten, absent ones added.
type builder struct {
	encoder
	m      *module
	meter  *meter
	code   []byte
	result *Instrumented
}

func (b *builder) build() {
	b.raw(b.m.wasm[:8]...)
	rewrite := []struct {
		id    sectionID
		write func(content span)
	}{
		{secType, b.typeSection}, {secFunction, b.functionSection}, {secTable, b.tableSection}, {secMemory, b.memorySection},
		{secGlobal, b.globalSection}, {secExport, b.exportSection}, {secCode, b.codeSection},
	}
	next := 0
	upTo := func(rank int) { // adds what must stand before a section of this rank and was not there
		for ; next < len(rewrite) && rewrite[next].id.rank() < rank; next++ {
			rewrite[next].write(span{})
		}
	}
	for _, s := range b.m.sections {
		if s.id == secCustom {
			if !s.drop {
				b.section(secCustom, b.m.wasm[s.start:s.end])
			}
			continue
		}
		upTo(s.id.rank())
		switch {
		case next < len(rewrite) && rewrite[next].id == s.id:
			rewrite[next].write(s.span)
			next++
		case s.id == secStart:
			b.result.Start = StartExport
		default:
			b.section(s.id, b.m.wasm[s.start:s.end])
		}
	}
	upTo(secData.rank() + 1)
}

func (b *builder) section(id sectionID, content []byte) {
	b.raw(byte(id))
	b.u32(uint32(len(content)))
	b.raw(content...)
}

// extend starts a section with its old entries and room for more: the new count, then the old bytes.
func (b *builder) extend(content span, more int) *encoder {
	e := new(encoder)
	if content.start == content.end {
		e.u32(uint32(more))
		return e
	}
	r := reader{buf: b.m.wasm, pos: content.start, end: content.end}
	e.u32(r.u32() + uint32(more))
	e.raw(r.buf[r.pos:r.end]...)
	return e
}

func (b *builder) typeSection(content span) {
	if content.start == content.end && len(b.meter.extra) == 0 {
		return
	}
	e := b.extend(content, len(b.meter.extra))
	for _, t := range b.meter.extra {
		e.raw(0x60)
		e.types(t.Params)
		e.types(t.Results)
	}
	b.section(secType, e.out)
}

func (b *builder) functionSection(content span) {
	if content.start == content.end {
		return
	}
	e := b.extend(content, len(b.meter.helpers))
	for _, h := range b.meter.helpers {
		e.u32(h.typeIndex)
	}
	b.section(secFunction, e.out)
}

// tableSection and memorySection declare the limits as maxima: whatever the runtime's own limits are, growth ends there.
func (b *builder) tableSection(content span) {
	if content.start == content.end {
		return
	}
	e, n := new(encoder), 0
	for _, t := range b.m.info.Tables {
		if !t.Imported {
			n++
			e.raw(byte(t.Type))
			e.size(Range{t.Min, t.most(b.m.lim.TableEntries), true})
		}
	}
	count := new(encoder)
	count.u32(uint32(n))
	b.section(secTable, append(count.out, e.out...))
}

func (b *builder) memorySection(content span) {
	var size Range
	switch memory := b.m.info.Memory; {
	case memory == nil && len(b.meter.helpers) > 0: // passing through Go takes a memory: an empty one
		size.HasMax = true
	case memory == nil || memory.Imported:
		return
	default:
		size = Range{memory.Min, memory.most(b.m.lim.MemoryPages), true}
	}
	e := &encoder{out: []byte{1}}
	e.size(size)
	b.section(secMemory, e.out)
}

func (b *builder) globalSection(content span) {
	e := b.extend(content, len(counters()))
	for range counters() { // they begin at zero: nothing runs before the host has set them
		e.raw(byte(I64), 1)
		e.i64(0)
		e.op(opEnd)
	}
	b.section(secGlobal, e.out)
}

func (b *builder) exportSection(content span) {
	e, n := new(encoder), 0
	export := func(name string, kind Extern, index int) {
		e.name(name)
		e.raw(byte(kind))
		e.u32(uint32(index))
		n++
	}
	for i, name := range counters() {
		export(name, GlobalExtern, int(b.meter.fuel)+i)
	}
	if b.m.info.Start >= 0 {
		export(StartExport, FuncExtern, b.m.info.Start)
	}
	for i, g := range b.m.info.Globals {
		if g.Mutable && !g.Imported && g.Type != V128 && !g.Type.isRef() {
			name := statePrefix + strconv.Itoa(i)
			export(name, GlobalExtern, i)
			b.result.State = append(b.result.State, StateGlobal{name, g.Type})
		}
	}
	b.section(secExport, append(b.extend(content, n).out, e.out...))
}

func (b *builder) codeSection(content span) {
	if content.start != content.end {
		b.section(secCode, b.code)
	}
}
