package gate

import (
	"strings"

	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
)

// ReservedPrefix begins every name that the meter adds to a module.
const ReservedPrefix = "__merit_"

func (m *Module) typeSection(r *binary.Reader) {
	for n := m.limit(r, "Types", "types", m.Limits.Types); n > 0 && r.Bad == nil; n-- {
		at := r.Pos
		if form := r.U8(); r.Bad == nil && form != 0x60 {
			r.Fail(binary.Unsupported, at, "type form 0x%02x is not a function type", form)
		}
		m.Types = append(m.Types, binary.FuncType{Params: m.valueTypes(r, "parameters"), Results: m.valueTypes(r, "results")})
	}
}

func (m *Module) valueTypes(r *binary.Reader, what string) []binary.ValueType {
	n := m.limit(r, "Arity", what, m.Limits.Arity)
	if n == 0 {
		return nil
	}
	types := make([]binary.ValueType, n)
	for i := range types {
		types[i] = r.ValueType()
	}
	return types
}

func (m *Module) importSection(r *binary.Reader) {
	for n := m.limit(r, "Imports", "imports", m.Limits.Imports); n > 0 && r.Bad == nil; n-- {
		at := r.Pos
		imp := Import{Module: r.Name(), Name: r.Name(), Kind: binary.Extern(r.U8())}
		switch imp.Kind {
		case binary.FuncExtern:
			index := r.U32()
			m.Funcs = append(m.Funcs, index)
			m.ImportedFuncs++
			if r.Bad == nil && m.check(at, -1, "type", index, len(m.Types)) {
				imp.Func = m.Types[index]
			}
		case binary.TableExtern:
			m.table(r, true)
		case binary.MemoryExtern:
			m.memory(r, true)
		case binary.GlobalExtern:
			m.global(r, true)
			m.importedG++
		default:
			r.Fail(binary.Unsupported, at, "import %q.%q of kind 0x%02x", imp.Module, imp.Name, byte(imp.Kind))
		}
		if r.Bad == nil {
			m.admit(at, imp)
			m.Info.Imports = append(m.Info.Imports, imp)
		}
	}
}

func (m *Module) admit(at int, imp Import) {
	switch {
	case imp.Kind != binary.FuncExtern && !m.Limits.AllowState:
		m.problem(binary.BadImport, at, "import of %s %q.%q: a module brings its own state", imp.Kind, imp.Module, imp.Name)
	case !m.Limits.AllowImport(imp):
		m.problem(binary.BadImport, at, "import of %s %q.%q: the host does not offer it", imp.Kind, imp.Module, imp.Name)
	}
}

func (m *Module) functionSection(r *binary.Reader) {
	for n := m.limit(r, "Functions", "functions", m.Limits.Functions); n > 0 && r.Bad == nil; n-- {
		at := r.Pos
		index := r.U32()
		if r.Bad == nil {
			m.check(at, -1, "type", index, len(m.Types))
			m.Funcs = append(m.Funcs, index)
		}
	}
	m.declared = make([]bool, len(m.Funcs))
}

// limits reads the size of a table or memory.
func (m *Module) limits(r *binary.Reader) binary.Range {
	at := r.Pos
	var size binary.Range
	switch flag := r.U8(); flag {
	case 0:
		size.Min = r.U32()
	case 1:
		size.Min, size.Max, size.HasMax = r.U32(), r.U32(), true
	case 2, 3:
		r.Fail(binary.Unsupported, at, "shared memory belongs to the threads proposal: build without it")
	case 4, 5, 6, 7:
		r.Fail(binary.Unsupported, at, "64-bit memories and tables are not supported: build for wasm32")
	default:
		if r.Bad == nil {
			r.Fail(binary.Malformed, at, "limits flag 0x%02x", flag)
		}
	}
	if r.Bad == nil && size.HasMax && size.Max < size.Min {
		m.problem(binary.Invalid, at, "minimum %d above maximum %d", size.Min, size.Max)
	}
	return size
}

func (m *Module) table(r *binary.Reader, imported bool) {
	at := r.Pos
	t := Table{Type: r.ValueType(), Imported: imported}
	if r.Bad == nil && !t.Type.IsRef() {
		r.Fail(binary.Malformed, at, "a table of %s", t.Type)
	}
	t.Range = m.limits(r)
	if r.Bad != nil {
		return
	}
	if uint64(t.Min) > uint64(m.Limits.TableEntries) {
		m.Refused.over(at, -1, "TableEntries", "initial table entries", uint64(t.Min), uint64(m.Limits.TableEntries))
	}
	if m.Info.Tables = append(m.Info.Tables, t); len(m.Info.Tables) == m.Limits.Tables+1 {
		m.Refused.over(at, -1, "Tables", "tables", uint64(len(m.Info.Tables)), uint64(m.Limits.Tables))
	}
}

func (m *Module) tableSection(r *binary.Reader) {
	for n := r.Count(); n > 0 && r.Bad == nil; n-- {
		m.table(r, false)
	}
}

func (m *Module) memory(r *binary.Reader, imported bool) {
	at := r.Pos
	size := m.limits(r)
	switch {
	case r.Bad != nil:
	case m.Info.Memory != nil:
		m.problem(binary.Unsupported, at, "a second memory: multiple memories are not supported")
	default:
		if size.Min > binary.MaxPages || size.Max > binary.MaxPages {
			m.problem(binary.Invalid, at, "a memory of more than %d pages", binary.MaxPages)
		} else if int(size.Min) > m.Limits.MemoryPages {
			m.Refused.over(at, -1, "MemoryPages", "initial memory pages of 64 KiB", uint64(size.Min), uint64(m.Limits.MemoryPages))
		}
		m.Info.Memory = &Memory{size, imported}
	}
}

func (m *Module) memorySection(r *binary.Reader) {
	for n := r.Count(); n > 0 && r.Bad == nil; n-- {
		m.memory(r, false)
	}
}

func (m *Module) global(r *binary.Reader, imported bool) {
	at := r.Pos
	g := Global{Type: r.ValueType(), Imported: imported}
	mutability := r.U8()
	if mutability > 1 {
		r.Fail(binary.Malformed, at, "mutability 0x%02x of a global", mutability)
	}
	g.Mutable = mutability == 1
	if g.Mutable && g.Type == binary.V128 && !m.Limits.AllowState {
		m.problem(binary.Unsupported, at, "mutable global %d holds a v128, which no snapshot can restore: keep it in memory", len(m.Info.Globals))
	}
	m.Info.Globals = append(m.Info.Globals, g)
}

func (m *Module) globalSection(r *binary.Reader) {
	for n := m.limit(r, "Globals", "globals", m.Limits.Globals); n > 0 && r.Bad == nil; n-- {
		m.global(r, false)
		m.constant(r)
	}
}

func (m *Module) exportSection(r *binary.Reader) {
	n := m.limit(r, "Exports", "exports", m.Limits.Exports)
	seen := make(map[string]bool, n)
	for ; n > 0 && r.Bad == nil; n-- {
		at := r.Pos
		e := Export{Name: r.Name(), Kind: binary.Extern(r.U8())}
		index := r.U32()
		if r.Bad != nil {
			return
		}
		if strings.HasPrefix(e.Name, ReservedPrefix) {
			m.problem(binary.Reserved, at, "export %q: names that begin with %s are reserved", e.Name, ReservedPrefix)
		}
		if seen[e.Name] {
			m.problem(binary.Invalid, at, "export %q is repeated", e.Name)
		}
		seen[e.Name] = true
		sizes := [...]int{len(m.Funcs), len(m.Info.Tables), m.memories(), len(m.Info.Globals)}
		if int(e.Kind) >= len(sizes) {
			r.Fail(binary.Unsupported, at, "export %q of kind 0x%02x", e.Name, byte(e.Kind))
			return
		}
		if m.check(at, -1, e.Kind.String(), index, sizes[e.Kind]) && e.Kind == binary.FuncExtern {
			m.declare(index)
		}
		e.Index = int(index)
		m.Info.Exports = append(m.Info.Exports, e)
	}
}

func (m *Module) memories() int {
	if m.Info.Memory == nil {
		return 0
	}
	return 1
}

func (m *Module) startSection(r *binary.Reader) {
	at := r.Pos
	index := r.U32()
	if r.Bad != nil || !m.check(at, -1, "func", index, len(m.Funcs)) {
		return
	}
	if t, ok := m.Signature(index); ok && len(t.Params)+len(t.Results) > 0 {
		m.problem(binary.Invalid, at, "start function %d has type %s, want () -> ()", index, t)
	}
	m.Info.Start = int(index)
}

// declare makes a function known to ref.func.
func (m *Module) declare(index uint32) {
	if len(m.declared) < len(m.Funcs) {
		m.declared = append(m.declared, make([]bool, len(m.Funcs)-len(m.declared))...)
	}
	if uint64(index) < uint64(len(m.declared)) {
		m.declared[index] = true
	}
}
