package fuel

import "slices"

// constant reads a constant expression. If it is a known i32 it returns that value.
func (m *module) constant(r *reader) (value uint32, known bool) {
	d := decoder{reader: *r}
	instructions := 0
	for d.next() && d.in.op != opEnd {
		in := &d.in
		switch in.op {
		case opI32Const:
			imm := reader{buf: d.buf, pos: in.pos + 1, end: in.end}
			value, known = uint32(imm.signed(32)), true
		case opI64Const, opF32Const, opF64Const, opV128Const, opRefNull:
		case opGlobalGet:
			m.check(in.pos, -1, "imported global", in.a, m.importedG)
			known = false
		case opRefFunc:
			m.check(in.pos, -1, "func", in.a, len(m.funcs))
			m.declare(in.a)
		default:
			d.fail(Unsupported, in.pos, "opcode 0x%02x in a constant expression", int(in.op))
		}
		instructions++
	}
	if d.bad == nil && d.in.op != opEnd {
		d.truncated()
	}
	if d.bad == nil && instructions != 1 {
		d.fail(Unsupported, r.pos, "a constant expression of %d instructions, want one", instructions)
	}
	*r = d.reader
	return value, known
}

func (m *module) elementSection(r *reader) {
	m.elements = m.limit(r, "Segments", "element segments", m.lim.Segments)
	for n := m.elements; n > 0 && r.bad == nil; n-- {
		at := r.pos
		flags := r.u32()
		if flags > 7 {
			r.fail(Malformed, at, "element segment flags %d", flags)
		}
		active, explicit, expressions := flags&1 == 0, flags&2 != 0, flags&4 != 0
		var table, offset uint32
		known := false
		if active {
			if explicit {
				table = r.u32()
			}
			offset, known = m.constant(r)
		}
		if flags&3 != 0 {
			m.elementKind(r, expressions)
		}
		n := m.elementItems(r, expressions)
		if r.bad == nil && active && m.check(at, -1, "table", table, len(m.info.Tables)) {
			t := m.info.Tables[table]
			if known && !t.Imported && uint64(offset)+uint64(n) > uint64(t.Min) {
				m.problem(Invalid, at, "element segment ends at %d, table %d has %d entries", uint64(offset)+uint64(n), table, t.Min)
			}
		}
	}
}

func (m *module) elementKind(r *reader, expressions bool) {
	at := r.pos
	if !expressions {
		if kind := r.u8(); r.bad == nil && kind != 0 {
			r.fail(Malformed, at, "element kind 0x%02x", kind)
		}
		return
	}
	if t := r.valueType(); r.bad == nil && !t.isRef() {
		r.fail(Malformed, at, "elements of %s", t)
	}
}

func (m *module) elementItems(r *reader, expressions bool) int {
	n := m.limit(r, "Elements", "elements of all segments", m.lim.Elements-m.info.Elements)
	m.info.Elements += n
	for i := 0; i < n && r.bad == nil; i++ {
		if expressions {
			m.constant(r)
			continue
		}
		at := r.pos
		if index := r.u32(); r.bad == nil {
			m.check(at, -1, "func", index, len(m.funcs))
			m.declare(index)
		}
	}
	return n
}

func (m *module) dataSection(r *reader) {
	m.dataActual = m.limit(r, "Segments", "data segments", m.lim.Segments)
	for n := m.dataActual; n > 0 && r.bad == nil; n-- {
		at := r.pos
		flags := r.u32()
		var offset uint32
		known := false
		switch {
		case flags > 2:
			r.fail(Malformed, at, "data segment flags %d", flags)
		case flags == 2:
			m.check(at, -1, "memory", r.u32(), m.memories())
		case flags == 0:
			m.check(at, -1, "memory", 0, m.memories())
		}
		if flags != 1 {
			offset, known = m.constant(r)
		}
		size := len(r.bytes(r.u32()))
		m.info.DataBytes += size
		m.dataSizes = append(m.dataSizes, uint32(size))
		if memory := m.info.Memory; r.bad == nil && known && memory != nil && !memory.Imported {
			if end, have := uint64(offset)+uint64(size), uint64(memory.Min)*pageBytes; end > have {
				m.problem(Invalid, at, "data segment ends at byte %d, the memory begins with %d", end, have)
			}
		}
	}
}

// dropped lists the custom sections of debuggers: useless in the sandbox, slow to cache and wrong after rewriting.
func dropped(name string) bool {
	return len(name) > 6 && name[:6] == ".debug" || slices.Contains([]string{"sourceMappingURL", "external_debug_info"}, name)
}

func (m *module) custom(r *reader, s *section) {
	name := r.name()
	if r.bad != nil {
		return
	}
	content := reader{buf: r.buf, pos: r.pos, end: r.end}
	s.drop = dropped(name)
	c := Custom{Name: name, Bytes: content.end - content.pos, Content: r.buf[content.pos:content.end], Dropped: s.drop}
	m.info.Custom = append(m.info.Custom, c)
	if !s.drop {
		if m.customBytes += c.Bytes; m.customBytes > m.lim.CustomBytes && m.customBytes-c.Bytes <= m.lim.CustomBytes {
			m.refused.over(s.start, -1, "CustomBytes", "bytes of custom sections", uint64(m.customBytes), uint64(m.lim.CustomBytes))
		}
	}
	if name == "name" {
		m.nameSection(&content)
	}
	if r.bad = content.bad; r.bad == nil {
		r.pos = r.end
	}
}

// nameSection checks the subsections that decoders read eagerly: a count that the bytes do not bear out makes wazero 1.12 allocate
// for it (24 bytes a name, up to 2^32 names).
func (m *module) nameSection(r *reader) {
	for r.more() {
		id := r.u8()
		sub := r.window(r.u32())
		switch id {
		case 0:
			sub.name()
		case 1:
			nameMap(&sub)
		case 2:
			for n := sub.count(); n > 0 && sub.bad == nil; n-- {
				sub.u32()
				nameMap(&sub)
			}
		default:
			sub.pos = sub.end
		}
		if sub.bad == nil && sub.pos < sub.end {
			sub.fail(Malformed, sub.pos, "%d bytes left over in name subsection %d", sub.end-sub.pos, id)
		}
		if r.bad == nil && sub.bad != nil {
			r.bad = sub.bad
		}
	}
}

func nameMap(r *reader) {
	for n := r.count(); n > 0 && r.bad == nil; n-- {
		r.u32()
		r.name()
	}
}
