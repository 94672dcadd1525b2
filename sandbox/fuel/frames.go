package fuel

// memoryFrame is a piece of the stack in memory: a function takes it from a global and gives it back. A function that others were
// inlined into has several.
//
//	global.get $sp; i32.const size; i32.sub; local.tee $base; global.set $sp
//	… local.get $base; i32.load offset=8 …
//	local.get $base; i32.const size; i32.add; global.set $sp
type memoryFrame struct {
	sp, base, size uint32
	// first is the instruction that begins it; it is the base's from first + toBase.
	first    int
	accesses []access
	// keeping lists the instructions that take the frame and give it back.
	keeping []int
	// open is set if an address within the frame goes anywhere but into a load or store.
	open bool
}

// access is a load or store in a frame: base is the instruction that gives the frame's address.
type access struct{ at, base int }

const toBase = 3

// operand is what is known of a value on the stack: for an address within a frame its offset, and the instruction that began it.
type operand struct {
	frame    *memoryFrame
	offset   uint32
	at       int
	constant bool
}

// framesOf reads a function and finds its frames. It reports false for what compilers hardly ever write.
func (m *module) framesOf(i int) (code []instr, frames []*memoryFrame, ok bool) {
	body := m.bodies[i]
	r := reader{buf: m.wasm, pos: body.start, end: body.end}
	m.locals(&r, m.importedF+i)
	for d := (decoder{reader: r}); d.next(); {
		in := d.in
		in.labels = nil
		code = append(code, in)
	}
	w := frameWalker{m: m, code: code, starts: map[int]*memoryFrame{}, holds: map[uint32]holding{}}
	for i := range code {
		if f := frameAt(code, i); f != nil {
			frames = append(frames, f)
			w.starts[i+toBase] = f
			w.holds[f.base] = holding{}
		}
	}
	if len(frames) == 0 {
		return code, nil, false
	}
	w.frames = frames
	w.findLoops()
	w.blocks = []frameBlock{{}}
	for i := range code {
		if !w.step(i) {
			return code, nil, false
		}
	}
	return code, frames, true
}

// frameAt recognises the beginning of a frame.
func frameAt(code []instr, i int) *memoryFrame {
	if i+toBase >= len(code) || code[i].op != opGlobalGet || code[i+1].op != opI32Const {
		return nil
	}
	size := code[i+1].a
	switch code[i+2].op {
	case opI32Sub:
	case opI32Add:
		size = -size
	default:
		return nil
	}
	if set := code[i+toBase].op; set != opLocalTee && set != opLocalSet || int32(size) <= 0 {
		return nil
	}
	return &memoryFrame{sp: code[i].a, base: code[i+toBase].a, size: size, first: i, keeping: []int{i, i + 1, i + 2, i + toBase}}
}

// holding says what a local that is some frame's base holds at a point: the base of a frame, or something else, or either.
type holding struct {
	frame  *memoryFrame
	unsure bool
}

// frameBlock is an open block: the operands below it, the values that it leaves, what the bases held where it began, and which
// of them were set within it, true for a frame's.
type frameBlock struct {
	height, out int
	entry       map[uint32]holding
	set         map[uint32]bool
}

// frameWalker follows operands and bases through a function.
type frameWalker struct {
	m      *module
	code   []instr
	frames []*memoryFrame
	starts map[int]*memoryFrame    // by the instruction that sets the base
	loops  map[int]map[uint32]bool // what is set within the loop that begins at an instruction
	holds  map[uint32]holding
	stack  []operand
	blocks []frameBlock
	dead   bool
}

// findLoops notes which bases every loop sets.
func (w *frameWalker) findLoops() {
	w.loops = map[int]map[uint32]bool{}
	var open []int
	for i := range w.code {
		switch in := &w.code[i]; in.op {
		case opBlock, opIf:
			open = append(open, -1)
		case opLoop:
			open = append(open, i)
			w.loops[i] = map[uint32]bool{}
		case opEnd:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case opLocalSet, opLocalTee:
			if _, isBase := w.holds[in.a]; !isBase {
				continue
			}
			for _, l := range open {
				if l >= 0 {
					w.loops[l][in.a] = w.loops[l][in.a] || w.starts[i] != nil
				}
			}
		}
	}
}

// merge forgets what the bases hold where they may have been set on one way and not on another.
func (w *frameWalker) merge(set map[uint32]bool) {
	for base, framed := range set {
		if h := w.holds[base]; framed || h.frame != nil || h.unsure {
			w.holds[base] = holding{unsure: true}
		}
	}
}

func (w *frameWalker) pop() operand {
	n := len(w.stack) - 1
	o := w.stack[n]
	w.stack = w.stack[:n]
	return o
}

func (w *frameWalker) push(o operand) { w.stack = append(w.stack, o) }

// lose notes that an address goes where it cannot be followed.
func (w *frameWalker) lose(o operand) {
	if o.frame != nil {
		o.frame.open = true
	}
}

// step follows one instruction; false gives up on the function.
func (w *frameWalker) step(i int) bool {
	in := &w.code[i]
	pop, push := int(in.shape.pop), int(in.shape.push)
	switch op := in.op; {
	case w.dead && op != opEnd && op != opElse:
		return false
	case op == opBlock || op == opLoop || op == opIf:
		return w.open(i)
	case op == opElse || op == opEnd:
		w.close(op)
		return true
	case op == opBr || op == opBrIf || op == opBrTable || op == opReturn || op == opUnreachable:
		w.branch(in)
		return true
	case op == opLocalGet:
		w.get(i, in.a)
		return true
	case op == opLocalSet || op == opLocalTee:
		w.set(i)
		return true
	case op == opI32Const:
		w.push(operand{offset: in.a, constant: true})
		return true
	case op == opI32Add || op == opI32Sub:
		w.add(i)
		return true
	case op == opGlobalSet:
		w.setGlobal(i)
		return true
	case op >= opI32Load && op < opMemorySize:
		w.memory(i)
		return true
	case op == opCall:
		t, _ := w.m.signature(in.a)
		pop, push = len(t.Params), len(t.Results)
	case op == opCallIndirect:
		t := w.m.types[in.a]
		pop, push = 1+len(t.Params), len(t.Results)
	}
	for range pop {
		w.lose(w.pop())
	}
	for range push {
		w.push(operand{})
	}
	return true
}

func (w *frameWalker) get(i int, local uint32) {
	h := w.holds[local]
	if h.unsure {
		for _, f := range w.frames {
			f.open = f.open || f.base == local
		}
	}
	w.push(operand{frame: h.frame, at: i})
}

func (w *frameWalker) set(i int) {
	in := &w.code[i]
	w.lose(w.pop())
	start := w.starts[i]
	if _, isBase := w.holds[in.a]; isBase {
		w.holds[in.a] = holding{frame: start}
		set := w.blocks[len(w.blocks)-1].set
		if set == nil {
			set = map[uint32]bool{}
			w.blocks[len(w.blocks)-1].set = set
		}
		set[in.a] = set[in.a] || start != nil
	}
	if in.op == opLocalTee {
		w.push(operand{frame: start, at: i})
	}
}

func (w *frameWalker) add(i int) {
	b, a := w.pop(), w.pop()
	if a.frame == nil || a.offset != 0 || !b.constant || a.at != i-2 {
		w.lose(a)
		w.lose(b)
		w.push(operand{})
		return
	}
	if w.code[i].op == opI32Sub {
		b.offset = -b.offset
	}
	w.push(operand{frame: a.frame, at: a.at, offset: b.offset})
}

// setGlobal lets the stack pointer be set to a frame and to what was before it.
func (w *frameWalker) setGlobal(i int) {
	o, f := w.pop(), (*memoryFrame)(nil)
	if f = o.frame; f == nil {
		return
	}
	switch same := w.code[i].a == f.sp; {
	case same && i == f.first+toBase+1 && o.offset == 0:
		f.keeping = append(f.keeping, i)
	case same && o.offset == f.size && o.at == i-3:
		f.keeping = append(f.keeping, i-3, i-2, i-1, i)
	default:
		f.open = true
	}
}

func (w *frameWalker) memory(i int) {
	store := w.code[i].op >= opI32Store
	if store {
		w.lose(w.pop())
	}
	if o := w.pop(); o.frame != nil && o.offset == 0 {
		o.frame.accesses = append(o.frame.accesses, access{i, o.at})
	} else {
		w.lose(o)
	}
	if !store {
		w.push(operand{})
	}
}

func (w *frameWalker) open(i int) bool {
	in := &w.code[i]
	if in.typed {
		return false
	}
	if in.op == opIf {
		w.lose(w.pop())
	}
	if in.op == opLoop {
		w.merge(w.loops[i])
	}
	b := frameBlock{height: len(w.stack), entry: make(map[uint32]holding, len(w.holds))}
	if in.value != 0 {
		b.out = 1
	}
	for base, h := range w.holds {
		b.entry[base] = h
	}
	w.blocks = append(w.blocks, b)
	return true
}

// close ends a block, or the first half of one.
func (w *frameWalker) close(op opcode) {
	top := &w.blocks[len(w.blocks)-1]
	for _, o := range w.stack[top.height:] {
		w.lose(o)
	}
	w.stack, w.dead = w.stack[:top.height], false
	for base, h := range top.entry {
		w.holds[base] = h
	}
	if op == opElse {
		return
	}
	w.merge(top.set)
	for range top.out {
		w.push(operand{})
	}
	set := top.set
	w.blocks = w.blocks[:len(w.blocks)-1]
	if n := len(w.blocks) - 1; n >= 0 && len(set) > 0 {
		if w.blocks[n].set == nil {
			w.blocks[n].set = map[uint32]bool{}
		}
		for base, framed := range set {
			w.blocks[n].set[base] = w.blocks[n].set[base] || framed
		}
	}
}

// branch loses the addresses that a branch may take with it.
func (w *frameWalker) branch(in *instr) {
	if in.op == opBrIf || in.op == opBrTable {
		w.lose(w.pop())
	}
	if n := len(w.stack); n > w.blocks[len(w.blocks)-1].height {
		w.lose(w.stack[n-1])
	}
	w.dead = in.op != opBrIf
}
