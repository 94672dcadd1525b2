package fuel

import "fmt"

const (
	pageBytes = 64 << 10
	maxPages  = 1 << 16 // of a 32-bit memory, by the specification
)

// sectionID is the code of a section. Its order in a module is that of sectionRank.
type sectionID byte

const (
	secCustom sectionID = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

var sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element",
	"code", "data", "data count"}

// String returns the name in the specification.
func (id sectionID) String() string { return sectionNames[id] }

// rank orders the sections of a module; the data count stands between elements and code.
func (id sectionID) rank() int {
	switch id {
	case secDataCount:
		return int(secElement)*2 + 1
	default:
		return int(id) * 2
	}
}

// span is a range of bytes of the module.
type span struct{ start, end int }

// section is one section: span is its content; drop is set for custom sections that are left out.
type section struct {
	id sectionID
	span
	drop bool
}

// module is a parsed module: what the gate checks and the meter needs.
type module struct {
	wasm    []byte
	lim     Limits
	refused Refused
	info    *Info

	sections []section
	types    []FuncType
	// funcs holds the type index of every function, imports first; bodies the code of those defined.
	funcs     []uint32
	importedF int
	bodies    []span
	// importedG counts imported globals; the index spaces themselves are in info.
	importedG int
	// declared marks the functions that ref.func may name.
	declared   []bool
	elements   int
	dataCount  int // from the data count section, or -1
	dataActual int // from the data section
	// dataSizes holds the bytes of every data segment.
	dataSizes []uint32
	// customBytes adds up the custom sections that are kept.
	customBytes int
	// partial is set once a section could not be read to its end: indices cannot be judged any more.
	partial bool
}

// parse reads a module and collects every problem.
func parse(wasm []byte, lim Limits) *module {
	m := &module{wasm: wasm, lim: lim.orDefault(), info: &Info{Bytes: len(wasm), Start: -1}, dataCount: -1}
	if len(wasm) > m.lim.Bytes {
		m.refused.over(0, -1, "Bytes", "bytes of the module", uint64(len(wasm)), uint64(m.lim.Bytes))
		return m
	}
	r := reader{buf: wasm, end: len(wasm)}
	header(&r)
	m.frame(&r)
	if r.bad != nil {
		m.refused.add(*r.bad)
		m.partial = true
	}
	m.content()
	return m
}

// header reads the magic number and the version.
func header(r *reader) {
	if string(r.bytes(4)) != "\x00asm" {
		r.bad = nil
		r.fail(Malformed, 0, "not a WebAssembly module (it does not begin with \\0asm)")
		return
	}
	switch version := r.bytes(4); {
	case r.bad != nil:
	case version[2] == 1:
		r.fail(Unsupported, 4, "a component, not a core module: build for wasm32-wasip1 or wasm32-unknown-unknown, not wasip2")
	case string(version) != "\x01\x00\x00\x00":
		r.fail(Unsupported, 4, "binary version % x, want 01 00 00 00", version)
	}
}

// frame finds the sections and checks their order.
func (m *module) frame(r *reader) {
	last, customs := 0, 0
	for r.more() {
		at := r.pos
		id := sectionID(r.u8())
		if int(id) >= len(sectionNames) {
			what := ""
			if id == 13 {
				what = " (exception handling)"
			}
			r.fail(Unsupported, at, "section %d%s is not part of core 2.0", id, what)
			return
		}
		size := r.u32()
		if left := r.end - r.pos; r.bad == nil && uint64(size) > uint64(left) {
			r.fail(Malformed, at, "the %s section declares %d bytes, the module has %d left", id, size, left)
		}
		content := r.window(size)
		if r.bad != nil {
			return
		}
		if id == secCustom {
			if customs++; customs > m.lim.CustomSections {
				m.refused.over(at, -1, "CustomSections", "custom sections", uint64(customs), uint64(m.lim.CustomSections))
				m.partial = true
				return
			}
		} else {
			if id.rank() <= last {
				m.problem(Malformed, at, "the %s section is out of order or repeated", id)
				m.partial = true
				continue
			}
			last = id.rank()
		}
		m.sections = append(m.sections, section{id: id, span: span{content.pos, content.end}})
	}
}

// content reads the sections; one that does not parse does not keep the others from being read.
func (m *module) content() {
	for i := range m.sections {
		s := &m.sections[i]
		r := reader{buf: m.wasm, pos: s.start, end: s.end}
		if s.id == secCustom {
			m.custom(&r, s)
		} else {
			m.section(&r, s.id)
		}
		if r.bad == nil && r.pos < r.end {
			r.fail(Malformed, r.pos, "%d bytes left over", r.end-r.pos)
		}
		if r.bad != nil {
			r.bad.Message = fmt.Sprintf("%s section: %s", s.id, r.bad.Message)
			m.refused.add(*r.bad)
			m.partial = true
		}
	}
	m.across()
}

// across checks what no section can tell alone.
func (m *module) across() {
	if defined := len(m.funcs) - m.importedF; !m.partial && defined != len(m.bodies) {
		m.problem(Malformed, len(m.wasm), "%d functions declared, %d bodies", defined, len(m.bodies))
	}
	if !m.partial && m.dataCount >= 0 && m.dataCount != m.dataActual {
		m.problem(Malformed, len(m.wasm), "%d data segments declared, %d found", m.dataCount, m.dataActual)
	}
	m.info.Types, m.info.Functions = len(m.types), len(m.bodies)
	m.info.Segments = m.elements + m.dataActual
	for i := range m.info.Exports {
		if e := &m.info.Exports[i]; e.Kind == FuncExtern {
			e.Func, _ = m.signature(uint32(e.Index))
		}
	}
}

func (m *module) section(r *reader, id sectionID) {
	switch id {
	case secType:
		m.typeSection(r)
	case secImport:
		m.importSection(r)
	case secFunction:
		m.functionSection(r)
	case secTable:
		m.tableSection(r)
	case secMemory:
		m.memorySection(r)
	case secGlobal:
		m.globalSection(r)
	case secExport:
		m.exportSection(r)
	case secStart:
		m.startSection(r)
	case secElement:
		m.elementSection(r)
	case secDataCount:
		m.dataCount = int(r.u32())
	case secCode:
		m.codeSection(r)
	case secData:
		m.dataSection(r)
	}
}

// problem reports what is wrong outside the code.
func (m *module) problem(kind Kind, offset int, format string, args ...any) {
	m.refused.add(Problem{kind, offset, -1, fmt.Sprintf(format, args...), ""})
}

// check reports an index outside its space.
func (m *module) check(offset, function int, space string, index uint32, size int) bool {
	if uint64(index) < uint64(size) {
		return true
	}
	if !m.partial {
		m.refused.add(Problem{Invalid, offset, function, fmt.Sprintf("%s %d does not exist: there are %d", space, index, size), ""})
	}
	return false
}

// limit reads the length of a vector; above the limit the section is not read on.
func (m *module) limit(r *reader, name, what string, most int) int {
	at := r.pos
	n := r.count()
	if n > most {
		r.fail(OverLimit, at, "%s: %d, at most %d", what, n, most)
		r.bad.Limit = name
		return 0
	}
	return n
}

// signature returns the type of a function, if there is one.
func (m *module) signature(function uint32) (FuncType, bool) {
	if uint64(function) >= uint64(len(m.funcs)) || uint64(m.funcs[function]) >= uint64(len(m.types)) {
		return FuncType{}, false
	}
	return m.types[m.funcs[function]], true
}
