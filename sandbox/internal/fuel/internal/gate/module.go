package gate

import (
	"fmt"

	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
)

// Section is one section: the span is its content; Drop is set for custom sections that are omitted.
type Section struct {
	ID binary.SectionID
	binary.Span
	Drop bool
}

// Module is a parsed module: what the gate checks and the meter needs.
type Module struct {
	Wasm    []byte
	Limits  Limits
	Refused Refused
	Info    *Info

	Sections []Section
	Types    []binary.FuncType
	// Funcs holds the type index of every function, imports first; Bodies the code of those defined.
	Funcs         []uint32
	ImportedFuncs int
	Bodies        []binary.Span
	// importedG counts imported globals; the index spaces themselves are in
	// Info.
	importedG int
	// declared marks the functions that ref.func may name.
	declared   []bool
	elements   int
	dataCount  int // from the data count section, or -1
	dataActual int // from the data section
	// DataSizes holds the bytes of every data segment.
	DataSizes []uint32
	// customBytes adds up the custom sections that are kept.
	customBytes int
	// partial is set if a section could not be read completely: indices can
	// then no longer be checked.
	partial bool
}

// Parse reads a module and collects every problem.
func Parse(wasm []byte, lim Limits) *Module {
	m := &Module{Wasm: wasm, Limits: lim.orDefault(), Info: &Info{Bytes: len(wasm), Start: -1}, dataCount: -1}
	if len(wasm) > m.Limits.Bytes {
		m.Refused.over(0, -1, "Bytes", "bytes of the module", uint64(len(wasm)), uint64(m.Limits.Bytes))
		return m
	}
	r := binary.Reader{Buf: wasm, End: len(wasm)}
	header(&r)
	m.frame(&r)
	if r.Bad != nil {
		m.Refused.add(*r.Bad)
		m.partial = true
	}
	m.content()
	return m
}

// header reads the magic number and the version.
func header(r *binary.Reader) {
	if string(r.Bytes(4)) != "\x00asm" {
		r.Bad = nil
		r.Fail(binary.Malformed, 0, "not a WebAssembly module (it does not begin with \\0asm)")
		return
	}
	switch version := r.Bytes(4); {
	case r.Bad != nil:
	case version[2] == 1:
		r.Fail(binary.Unsupported, 4, "a component, not a core module: build for wasm32-wasip1 or wasm32-unknown-unknown, not wasip2")
	case string(version) != "\x01\x00\x00\x00":
		r.Fail(binary.Unsupported, 4, "binary version % x, want 01 00 00 00", version)
	}
}

// frame finds the sections and checks their order.
func (m *Module) frame(r *binary.Reader) {
	last, customs := 0, 0
	for r.More() {
		at := r.Pos
		id := binary.SectionID(r.U8())
		if int(id) >= len(binary.SectionNames) {
			what := ""
			if id == 13 {
				what = " (exception handling)"
			}
			r.Fail(binary.Unsupported, at, "section %d%s is not part of core 2.0", id, what)
			return
		}
		size := r.U32()
		if left := r.End - r.Pos; r.Bad == nil && uint64(size) > uint64(left) {
			r.Fail(binary.Malformed, at, "the %s section declares %d bytes, the module has %d left", id, size, left)
		}
		content := r.Window(size)
		if r.Bad != nil {
			return
		}
		if id == binary.SecCustom {
			if customs++; customs > m.Limits.CustomSections {
				m.Refused.over(at, -1, "CustomSections", "custom sections", uint64(customs), uint64(m.Limits.CustomSections))
				m.partial = true
				return
			}
		} else {
			if id.Rank() <= last {
				m.problem(binary.Malformed, at, "the %s section is out of order or repeated", id)
				m.partial = true
				continue
			}
			last = id.Rank()
		}
		m.Sections = append(m.Sections, Section{ID: id, Span: binary.Span{Start: content.Pos, End: content.End}})
	}
}

// content reads the sections; it reads the others even if one does not parse.
func (m *Module) content() {
	for i := range m.Sections {
		s := &m.Sections[i]
		r := binary.Reader{Buf: m.Wasm, Pos: s.Start, End: s.End}
		if s.ID == binary.SecCustom {
			m.custom(&r, s)
		} else {
			m.section(&r, s.ID)
		}
		if r.Bad == nil && r.Pos < r.End {
			r.Fail(binary.Malformed, r.Pos, "%d bytes left over", r.End-r.Pos)
		}
		if r.Bad != nil {
			r.Bad.Message = fmt.Sprintf("%s section: %s", s.ID, r.Bad.Message)
			m.Refused.add(*r.Bad)
			m.partial = true
		}
	}
	m.across()
}

// across checks what concerns several sections.
func (m *Module) across() {
	if defined := len(m.Funcs) - m.ImportedFuncs; !m.partial && defined != len(m.Bodies) {
		m.problem(binary.Malformed, len(m.Wasm), "%d functions declared, %d bodies", defined, len(m.Bodies))
	}
	if !m.partial && m.dataCount >= 0 && m.dataCount != m.dataActual {
		m.problem(binary.Malformed, len(m.Wasm), "%d data segments declared, %d found", m.dataCount, m.dataActual)
	}
	m.Info.Types, m.Info.Functions = len(m.Types), len(m.Bodies)
	m.Info.Segments = m.elements + m.dataActual
	for i := range m.Info.Exports {
		if e := &m.Info.Exports[i]; e.Kind == binary.FuncExtern {
			e.Func, _ = m.Signature(uint32(e.Index))
		}
	}
}

func (m *Module) section(r *binary.Reader, id binary.SectionID) {
	switch id {
	case binary.SecType:
		m.typeSection(r)
	case binary.SecImport:
		m.importSection(r)
	case binary.SecFunction:
		m.functionSection(r)
	case binary.SecTable:
		m.tableSection(r)
	case binary.SecMemory:
		m.memorySection(r)
	case binary.SecGlobal:
		m.globalSection(r)
	case binary.SecExport:
		m.exportSection(r)
	case binary.SecStart:
		m.startSection(r)
	case binary.SecElement:
		m.elementSection(r)
	case binary.SecDataCount:
		m.dataCount = int(r.U32())
	case binary.SecCode:
		m.codeSection(r)
	case binary.SecData:
		m.dataSection(r)
	}
}

// problem reports a problem outside the code.
func (m *Module) problem(kind binary.Kind, offset int, format string, args ...any) {
	m.Refused.add(binary.Problem{Kind: kind, Offset: offset, Func: -1, Message: fmt.Sprintf(format, args...)})
}

// check reports an index outside its index space.
func (m *Module) check(offset, function int, space string, index uint32, size int) bool {
	if uint64(index) < uint64(size) {
		return true
	}
	if !m.partial {
		m.Refused.add(binary.Problem{Kind: binary.Invalid, Offset: offset, Func: function, Message: fmt.Sprintf("%s %d does not exist: there are %d", space, index, size)})
	}
	return false
}

// limit reads the length of a vector; if it is above the limit, the rest of the
// section is not read.
func (m *Module) limit(r *binary.Reader, name, what string, most int) int {
	at := r.Pos
	n := r.Count()
	if n > most {
		r.Fail(binary.OverLimit, at, "%s: %d, at most %d", what, n, most)
		r.Bad.Limit = name
		return 0
	}
	return n
}

// Signature returns the type of a function, if there is one.
func (m *Module) Signature(function uint32) (binary.FuncType, bool) {
	if uint64(function) >= uint64(len(m.Funcs)) || uint64(m.Funcs[function]) >= uint64(len(m.Types)) {
		return binary.FuncType{}, false
	}
	return m.Types[m.Funcs[function]], true
}
