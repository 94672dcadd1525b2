package fuel

import (
	"strconv"

	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/gate"
)

// builder assembles the metered module: the sections in order, with those
// rewritten that grow, and missing ones added.
type builder struct {
	binary.Encoder
	m      *gate.Module
	meter  *meter
	code   []byte
	result *Instrumented
}

func (b *builder) build() {
	b.Raw(b.m.Wasm[:8]...)
	rewrite := []struct {
		ID    binary.SectionID
		write func(content binary.Span)
	}{
		{binary.SecType, b.typeSection}, {binary.SecFunction, b.functionSection}, {binary.SecTable, b.tableSection}, {binary.SecMemory, b.memorySection},
		{binary.SecGlobal, b.globalSection}, {binary.SecExport, b.exportSection}, {binary.SecCode, b.codeSection},
	}
	next := 0
	upTo := func(rank int) { // adds what must stand before a section of this rank and was not there
		for ; next < len(rewrite) && rewrite[next].ID.Rank() < rank; next++ {
			rewrite[next].write(binary.Span{})
		}
	}
	for _, s := range b.m.Sections {
		if s.ID == binary.SecCustom {
			if !s.Drop {
				b.section(binary.SecCustom, b.m.Wasm[s.Start:s.End])
			}
			continue
		}
		upTo(s.ID.Rank())
		switch {
		case next < len(rewrite) && rewrite[next].ID == s.ID:
			rewrite[next].write(s.Span)
			next++
		case s.ID == binary.SecStart:
			b.result.Start = StartExport
		default:
			b.section(s.ID, b.m.Wasm[s.Start:s.End])
		}
	}
	upTo(binary.SecData.Rank() + 1)
}

func (b *builder) section(id binary.SectionID, content []byte) {
	b.Raw(byte(id))
	b.U32(uint32(len(content)))
	b.Raw(content...)
}

// extend starts a section that keeps its old entries and will get more: it
// writes the new count and the old bytes.
func (b *builder) extend(content binary.Span, more int) *binary.Encoder {
	e := new(binary.Encoder)
	if content.Start == content.End {
		e.U32(uint32(more))
		return e
	}
	r := binary.Reader{Buf: b.m.Wasm, Pos: content.Start, End: content.End}
	e.U32(r.U32() + uint32(more))
	e.Raw(r.Buf[r.Pos:r.End]...)
	return e
}

func (b *builder) typeSection(content binary.Span) {
	if content.Start == content.End && len(b.meter.extra) == 0 {
		return
	}
	e := b.extend(content, len(b.meter.extra))
	for _, t := range b.meter.extra {
		e.Raw(0x60)
		e.Types(t.Params)
		e.Types(t.Results)
	}
	b.section(binary.SecType, e.Out)
}

func (b *builder) functionSection(content binary.Span) {
	if content.Start == content.End {
		return
	}
	e := b.extend(content, len(b.meter.helpers))
	for _, h := range b.meter.helpers {
		e.U32(h.typeIndex)
	}
	b.section(binary.SecFunction, e.Out)
}

// tableSection and memorySection declare the limits as maxima: growth stops
// there, whatever the limits of the runtime.
func (b *builder) tableSection(content binary.Span) {
	if content.Start == content.End {
		return
	}
	e, n := new(binary.Encoder), 0
	for _, t := range b.m.Info.Tables {
		if !t.Imported {
			n++
			e.Raw(byte(t.Type))
			e.Size(Range{Min: t.Min, Max: t.Most(b.m.Limits.TableEntries), HasMax: true})
		}
	}
	count := new(binary.Encoder)
	count.U32(uint32(n))
	b.section(binary.SecTable, append(count.Out, e.Out...))
}

func (b *builder) memorySection(content binary.Span) {
	var size Range
	switch memory := b.m.Info.Memory; {
	case memory == nil && len(b.meter.helpers) > 0: // passing through Go takes a memory: an empty one
		size.HasMax = true
	case memory == nil || memory.Imported:
		return
	default:
		size = Range{Min: memory.Min, Max: memory.Most(b.m.Limits.MemoryPages), HasMax: true}
	}
	e := &binary.Encoder{Out: []byte{1}}
	e.Size(size)
	b.section(binary.SecMemory, e.Out)
}

func (b *builder) globalSection(content binary.Span) {
	e := b.extend(content, len(counters()))
	for range counters() { // they begin at zero: nothing runs before the host has set them
		e.Raw(byte(I64), 1)
		e.I64(0)
		e.Op(binary.OpEnd)
	}
	b.section(binary.SecGlobal, e.Out)
}

func (b *builder) exportSection(content binary.Span) {
	e, n := new(binary.Encoder), 0
	export := func(name string, kind Extern, index int) {
		e.Name(name)
		e.Raw(byte(kind))
		e.U32(uint32(index))
		n++
	}
	for i, name := range counters() {
		export(name, GlobalExtern, int(b.meter.fuel)+i)
	}
	if b.m.Info.Start >= 0 {
		export(StartExport, FuncExtern, b.m.Info.Start)
	}
	for i, g := range b.m.Info.Globals {
		if g.Mutable && !g.Imported && g.Type != V128 && !g.Type.IsRef() {
			name := statePrefix + strconv.Itoa(i)
			export(name, GlobalExtern, i)
			b.result.State = append(b.result.State, StateGlobal{name, g.Type})
		}
	}
	b.section(binary.SecExport, append(b.extend(content, n).Out, e.Out...))
}

func (b *builder) codeSection(content binary.Span) {
	if content.Start != content.End {
		b.section(binary.SecCode, b.code)
	}
}
