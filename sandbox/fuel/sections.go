package fuel

import "strings"

// reservedPrefix begins every name that the meter adds to a module.
const reservedPrefix = "__merit_"

func (m *module) typeSection(r *reader) {
	for n := m.limit(r, "Types", "types", m.lim.Types); n > 0 && r.bad == nil; n-- {
		at := r.pos
		if form := r.u8(); r.bad == nil && form != 0x60 {
			r.fail(Unsupported, at, "type form 0x%02x is not a function type", form)
		}
		m.types = append(m.types, FuncType{m.valueTypes(r, "parameters"), m.valueTypes(r, "results")})
	}
}

func (m *module) valueTypes(r *reader, what string) []ValueType {
	n := m.limit(r, "Arity", what, m.lim.Arity)
	if n == 0 {
		return nil
	}
	types := make([]ValueType, n)
	for i := range types {
		types[i] = r.valueType()
	}
	return types
}

func (m *module) importSection(r *reader) {
	for n := m.limit(r, "Imports", "imports", m.lim.Imports); n > 0 && r.bad == nil; n-- {
		at := r.pos
		imp := Import{Module: r.name(), Name: r.name(), Kind: Extern(r.u8())}
		switch imp.Kind {
		case FuncExtern:
			index := r.u32()
			m.funcs = append(m.funcs, index)
			m.importedF++
			if r.bad == nil && m.check(at, -1, "type", index, len(m.types)) {
				imp.Func = m.types[index]
			}
		case TableExtern:
			m.table(r, true)
		case MemoryExtern:
			m.memory(r, true)
		case GlobalExtern:
			m.global(r, true)
			m.importedG++
		default:
			r.fail(Unsupported, at, "import %q.%q of kind 0x%02x", imp.Module, imp.Name, byte(imp.Kind))
		}
		if r.bad == nil {
			m.admit(at, imp)
			m.info.Imports = append(m.info.Imports, imp)
		}
	}
}

func (m *module) admit(at int, imp Import) {
	switch {
	case imp.Kind != FuncExtern && !m.lim.AllowState:
		m.problem(BadImport, at, "import of %s %q.%q: a module brings its own state", imp.Kind, imp.Module, imp.Name)
	case !m.lim.AllowImport(imp):
		m.problem(BadImport, at, "import of %s %q.%q: the host does not offer it", imp.Kind, imp.Module, imp.Name)
	}
}

func (m *module) functionSection(r *reader) {
	for n := m.limit(r, "Functions", "functions", m.lim.Functions); n > 0 && r.bad == nil; n-- {
		at := r.pos
		index := r.u32()
		if r.bad == nil {
			m.check(at, -1, "type", index, len(m.types))
			m.funcs = append(m.funcs, index)
		}
	}
	m.declared = make([]bool, len(m.funcs))
}

// limits reads the size of a table or memory.
func (m *module) limits(r *reader) Range {
	at := r.pos
	var size Range
	switch flag := r.u8(); flag {
	case 0:
		size.Min = r.u32()
	case 1:
		size.Min, size.Max, size.HasMax = r.u32(), r.u32(), true
	case 2, 3:
		r.fail(Unsupported, at, "shared memory belongs to the threads proposal: build without it")
	case 4, 5, 6, 7:
		r.fail(Unsupported, at, "64-bit memories and tables are not supported: build for wasm32")
	default:
		if r.bad == nil {
			r.fail(Malformed, at, "limits flag 0x%02x", flag)
		}
	}
	if r.bad == nil && size.HasMax && size.Max < size.Min {
		m.problem(Invalid, at, "minimum %d above maximum %d", size.Min, size.Max)
	}
	return size
}

func (m *module) table(r *reader, imported bool) {
	at := r.pos
	t := Table{Type: r.valueType(), Imported: imported}
	if r.bad == nil && !t.Type.isRef() {
		r.fail(Malformed, at, "a table of %s", t.Type)
	}
	t.Range = m.limits(r)
	if r.bad != nil {
		return
	}
	if uint64(t.Min) > uint64(m.lim.TableEntries) {
		m.refused.over(at, -1, "TableEntries", "initial table entries", uint64(t.Min), uint64(m.lim.TableEntries))
	}
	if m.info.Tables = append(m.info.Tables, t); len(m.info.Tables) == m.lim.Tables+1 {
		m.refused.over(at, -1, "Tables", "tables", uint64(len(m.info.Tables)), uint64(m.lim.Tables))
	}
}

func (m *module) tableSection(r *reader) {
	for n := r.count(); n > 0 && r.bad == nil; n-- {
		m.table(r, false)
	}
}

func (m *module) memory(r *reader, imported bool) {
	at := r.pos
	size := m.limits(r)
	switch {
	case r.bad != nil:
	case m.info.Memory != nil:
		m.problem(Unsupported, at, "a second memory: multiple memories are not supported")
	default:
		if size.Min > maxPages || size.Max > maxPages {
			m.problem(Invalid, at, "a memory of more than %d pages", maxPages)
		} else if int(size.Min) > m.lim.MemoryPages {
			m.refused.over(at, -1, "MemoryPages", "initial memory pages of 64 KiB", uint64(size.Min), uint64(m.lim.MemoryPages))
		}
		m.info.Memory = &Memory{size, imported}
	}
}

func (m *module) memorySection(r *reader) {
	for n := r.count(); n > 0 && r.bad == nil; n-- {
		m.memory(r, false)
	}
}

func (m *module) global(r *reader, imported bool) {
	at := r.pos
	g := Global{Type: r.valueType(), Imported: imported}
	mutability := r.u8()
	if mutability > 1 {
		r.fail(Malformed, at, "mutability 0x%02x of a global", mutability)
	}
	g.Mutable = mutability == 1
	if g.Mutable && g.Type == V128 && !m.lim.AllowState {
		m.problem(Unsupported, at, "mutable global %d holds a v128, which no snapshot can restore: keep it in memory", len(m.info.Globals))
	}
	m.info.Globals = append(m.info.Globals, g)
}

func (m *module) globalSection(r *reader) {
	for n := m.limit(r, "Globals", "globals", m.lim.Globals); n > 0 && r.bad == nil; n-- {
		m.global(r, false)
		m.constant(r)
	}
}

func (m *module) exportSection(r *reader) {
	n := m.limit(r, "Exports", "exports", m.lim.Exports)
	seen := make(map[string]bool, n)
	for ; n > 0 && r.bad == nil; n-- {
		at := r.pos
		e := Export{Name: r.name(), Kind: Extern(r.u8())}
		index := r.u32()
		if r.bad != nil {
			return
		}
		if strings.HasPrefix(e.Name, reservedPrefix) {
			m.problem(Reserved, at, "export %q: names that begin with %s are reserved", e.Name, reservedPrefix)
		}
		if seen[e.Name] {
			m.problem(Invalid, at, "export %q is repeated", e.Name)
		}
		seen[e.Name] = true
		sizes := [...]int{len(m.funcs), len(m.info.Tables), m.memories(), len(m.info.Globals)}
		if int(e.Kind) >= len(sizes) {
			r.fail(Unsupported, at, "export %q of kind 0x%02x", e.Name, byte(e.Kind))
			return
		}
		if m.check(at, -1, e.Kind.String(), index, sizes[e.Kind]) && e.Kind == FuncExtern {
			m.declare(index)
		}
		e.Index = int(index)
		m.info.Exports = append(m.info.Exports, e)
	}
}

func (m *module) memories() int {
	if m.info.Memory == nil {
		return 0
	}
	return 1
}

func (m *module) startSection(r *reader) {
	at := r.pos
	index := r.u32()
	if r.bad != nil || !m.check(at, -1, "func", index, len(m.funcs)) {
		return
	}
	if t, ok := m.signature(index); ok && len(t.Params)+len(t.Results) > 0 {
		m.problem(Invalid, at, "start function %d has type %s, want () -> ()", index, t)
	}
	m.info.Start = int(index)
}

// declare makes a function known to ref.func.
func (m *module) declare(index uint32) {
	if len(m.declared) < len(m.funcs) {
		m.declared = append(m.declared, make([]bool, len(m.funcs)-len(m.declared))...)
	}
	if uint64(index) < uint64(len(m.declared)) {
		m.declared[index] = true
	}
}
