package fuel

import "fmt"

// codeSection reads the bodies; one that does not parse does not keep the others from being read.
func (m *module) codeSection(r *reader) {
	for n, i := r.count(), 0; i < n && r.bad == nil; i++ {
		at := r.pos
		size := r.u32()
		body := r.window(size)
		if r.bad != nil {
			return
		}
		function := m.importedF + i
		if len(m.bodies) == m.lim.Functions {
			r.fail(OverLimit, at, "function bodies: %d, at most %d", n, m.lim.Functions)
			r.bad.Limit = "Functions"
			return
		}
		if m.info.CodeBytes += int(size); m.info.CodeBytes > m.lim.CodeBytes {
			r.fail(OverLimit, at, "bytes of code up to here: %d, at most %d", m.info.CodeBytes, m.lim.CodeBytes)
			r.bad.Limit = "CodeBytes"
			return
		}
		m.bodies = append(m.bodies, span{body.pos, body.end})
		if size := int(size); size > m.lim.FunctionBytes {
			m.refused.over(at, function, "FunctionBytes", "bytes of the function", uint64(size), uint64(m.lim.FunctionBytes))
			continue
		}
		m.info.LargestFunction = max(m.info.LargestFunction, int(size))
		m.body(function, body)
	}
}

// body checks one function body.
func (m *module) body(function int, r reader) {
	at := r.pos
	locals, ok := m.locals(&r, function)
	if ok {
		c := checker{module: m, decoder: decoder{reader: r}, function: function, locals: locals, open: []opcode{opBlock}}
		if c.run(); c.bad == nil {
			c.measure(at)
		}
		r = c.reader
	}
	if r.bad != nil {
		r.bad.Func = function
		m.refused.add(*r.bad)
	}
}

// locals reads the declarations and returns the number of locals, parameters included.
func (m *module) locals(r *reader, function int) (total int, ok bool) {
	at := r.pos
	t, _ := m.signature(uint32(function))
	sum := uint64(len(t.Params))
	for n := r.count(); n > 0 && r.bad == nil; n-- {
		sum += uint64(r.u32())
		r.valueType()
	}
	if r.bad == nil && sum > uint64(m.lim.Locals) {
		r.fail(OverLimit, at, "locals: %d, at most %d", sum, m.lim.Locals)
		r.bad.Limit = "Locals"
	}
	return int(sum), r.bad == nil
}

// checker walks the instructions of one body: every index must exist in the module as it came, so that nothing which the meter
// appends can give meaning to it.
type checker struct {
	*module
	decoder
	function int
	locals   int
	// open holds the kinds of the open blocks, the body itself first; control counts control instructions.
	open    []opcode
	control int
}

func (c *checker) run() {
	for len(c.open) > 0 && c.next() {
		c.structure()
		c.indices()
	}
	if c.bad == nil && len(c.open) > 0 {
		c.fail(Malformed, c.end, "the body ends inside a block")
	}
	if c.bad == nil && c.pos < c.end {
		c.fail(Malformed, c.pos, "%d bytes after the end of the body", c.end-c.pos)
	}
}

// structure follows blocks and branches.
func (c *checker) structure() {
	in := &c.in
	switch in.op {
	case opBlock, opLoop, opIf:
		c.open = append(c.open, in.op)
		c.info.DeepestNesting = max(c.info.DeepestNesting, len(c.open)-1)
		if depth := len(c.open) - 1; depth > c.lim.Nesting {
			c.tooMany("Nesting", "nested blocks", depth, c.lim.Nesting)
		}
	case opElse:
		if top := len(c.open) - 1; c.open[top] != opIf {
			c.fail(Malformed, in.pos, "else without if")
		} else {
			c.open[top] = opElse
		}
	case opEnd:
		c.open = c.open[:len(c.open)-1]
		return
	case opBr, opBrIf:
		c.label(in.a)
	case opBrTable:
		for _, l := range in.labels {
			c.label(l)
		}
		c.info.MostTargets = max(c.info.MostTargets, len(in.labels))
		if len(in.labels) > c.lim.BranchTargets {
			c.tooMany("BranchTargets", "targets of a br_table", len(in.labels), c.lim.BranchTargets)
		}
	default:
		return
	}
	c.control += 1 + len(in.labels)/4
}

func (c *checker) label(l uint32) {
	if uint64(l) >= uint64(len(c.open)) {
		c.fail(Invalid, c.in.pos, "label %d does not exist: %d block(s) are open", l, len(c.open))
	}
}

func (c *checker) tooMany(limit, what string, have, most int) {
	c.fail(OverLimit, c.in.pos, "%s: %d, at most %d", what, have, most)
	c.bad.Limit = limit
}

// indices checks that what the instruction names exists, and counts the sites that snapshots must know of.
func (c *checker) indices() {
	in := &c.in
	switch in.shape.imm {
	case immBlock:
		if in.typed {
			c.exists("type", in.a, len(c.types))
		}
	case immFunc:
		c.exists("func", in.a, len(c.funcs))
		if in.op == opRefFunc && uint64(in.a) < uint64(len(c.declared)) && !c.declared[in.a] {
			c.refused.add(Problem{Invalid, in.pos, c.function, fmt.Sprintf("ref.func %d names an undeclared function", in.a), ""})
		}
	case immIndirect:
		c.exists("type", in.a, len(c.types))
		c.exists("table", in.b, len(c.info.Tables))
	case immLocal:
		c.exists("local", in.a, c.locals)
	case immGlobal:
		c.exists("global", in.a, len(c.info.Globals))
	case immTable:
		c.exists("table", in.a, len(c.info.Tables))
	case immTableTable:
		c.exists("table", in.a, len(c.info.Tables))
		c.exists("table", in.b, len(c.info.Tables))
	case immElem:
		c.exists("element segment", in.a, c.elements)
	case immElemTable:
		c.exists("element segment", in.a, c.elements)
		c.exists("table", in.b, len(c.info.Tables))
	case immData, immDataZero:
		c.exists("data segment", in.a, max(c.dataCount, 0))
	}
	switch in.shape.imm {
	case immMem, immMemLane, immZero, immZeroZero, immDataZero:
		c.exists("memory", 0, c.memories())
	}
	c.site()
}

func (c *checker) exists(space string, index uint32, size int) {
	c.check(c.in.pos, c.function, space, index, size)
}

func (c *checker) site() {
	sites := &c.info.Sites
	switch c.in.op {
	case opTableSet, opTableGrow, opTableFill, opTableCopy, opTableInit:
		sites.TableWrites++
	case opDataDrop, opElemDrop:
		sites.SegmentDrops++
	case opMemoryGrow:
		sites.MemoryGrows++
	}
}

// measure keeps the largest figures and bounds what an SSA compiler may have to do: measured on wazero 1.12, compiling a function
// takes time in proportion to its control instructions times its locals, and to the square of its control instructions.
func (c *checker) measure(at int) {
	complexity := (c.control + 1) * (c.control/64 + c.locals + 1)
	c.info.MostLocals = max(c.info.MostLocals, c.locals)
	c.info.MostComplex = max(c.info.MostComplex, complexity)
	if complexity > c.lim.Complexity {
		c.refused.over(at, c.function, "Complexity", "complexity of the function", uint64(complexity), uint64(c.lim.Complexity))
	}
	before := c.info.Complexity
	if c.info.Complexity += complexity; before <= c.lim.TotalComplexity && c.info.Complexity > c.lim.TotalComplexity {
		c.refused.over(at, -1, "TotalComplexity", "complexity of the functions up to here", uint64(c.info.Complexity), uint64(c.lim.TotalComplexity))
	}
}
