package fuel

// opcode is a core opcode (one byte) or a prefix and its sub-opcode (0xfcNN, 0xfdNN).
type opcode uint16

const (
	opUnreachable  opcode = 0x00
	opNop          opcode = 0x01
	opBlock        opcode = 0x02
	opLoop         opcode = 0x03
	opIf           opcode = 0x04
	opElse         opcode = 0x05
	opEnd          opcode = 0x0b
	opBr           opcode = 0x0c
	opBrIf         opcode = 0x0d
	opBrTable      opcode = 0x0e
	opReturn       opcode = 0x0f
	opCall         opcode = 0x10
	opCallIndirect opcode = 0x11
	opDrop         opcode = 0x1a
	opSelect       opcode = 0x1b
	opLocalGet     opcode = 0x20
	opLocalSet     opcode = 0x21
	opLocalTee     opcode = 0x22
	opGlobalGet    opcode = 0x23
	opGlobalSet    opcode = 0x24
	opTableSet     opcode = 0x26
	opI32Load      opcode = 0x28
	opI64Load      opcode = 0x29
	opF32Load      opcode = 0x2a
	opF64Load      opcode = 0x2b
	opI32Load8S    opcode = 0x2c
	opI32Load8U    opcode = 0x2d
	opI32Load16S   opcode = 0x2e
	opI32Load16U   opcode = 0x2f
	opI32Store     opcode = 0x36
	opI64Store     opcode = 0x37
	opF32Store     opcode = 0x38
	opF64Store     opcode = 0x39
	opI32Store8    opcode = 0x3a
	opI32Store16   opcode = 0x3b
	opMemorySize   opcode = 0x3f
	opMemoryGrow   opcode = 0x40
	opI32Const     opcode = 0x41
	opI64Const     opcode = 0x42
	opF32Const     opcode = 0x43
	opF64Const     opcode = 0x44
	opI32GtU       opcode = 0x4b
	opI32LeU       opcode = 0x4d
	opI64LtS       opcode = 0x53
	opI64GtU       opcode = 0x56
	opI32Add       opcode = 0x6a
	opI32Sub       opcode = 0x6b
	opI32And       opcode = 0x71
	opI64Add       opcode = 0x7c
	opI64Sub       opcode = 0x7d
	opI64Mul       opcode = 0x7e
	opI64Or        opcode = 0x84
	opI64Shl       opcode = 0x86
	opI64ShrU      opcode = 0x88
	opI64ExtendU   opcode = 0xad
	opI32Extend8   opcode = 0xc0
	opI32Extend16  opcode = 0xc1
	opRefNull      opcode = 0xd0
	opRefFunc      opcode = 0xd2

	prefixMisc opcode = 0xfc
	prefixSIMD opcode = 0xfd

	opMemoryInit opcode = 0xfc08
	opDataDrop   opcode = 0xfc09
	opMemoryCopy opcode = 0xfc0a
	opMemoryFill opcode = 0xfc0b
	opTableInit  opcode = 0xfc0c
	opElemDrop   opcode = 0xfc0d
	opTableCopy  opcode = 0xfc0e
	opTableGrow  opcode = 0xfc0f
	opTableSize  opcode = 0xfc10
	opTableFill  opcode = 0xfc11
	opV128Const  opcode = 0xfd0c
)

// immediate says what follows an opcode.
type immediate uint8

const (
	immUnknown immediate = iota // not an instruction of core 2.0
	immNone
	immBlock      // block type
	immLabel      // label
	immLabels     // labels and a default
	immFunc       // function
	immIndirect   // type, table
	immTypes      // vector of value types
	immLocal      // local
	immGlobal     // global
	immTable      // table
	immMem        // alignment, offset
	immMemLane    // alignment, offset, lane
	immZero       // memory 0
	immZeroZero   // memory 0, memory 0
	immI32        // constant
	immI64        // constant
	imm4          // four bytes
	imm8          // eight bytes
	imm16         // sixteen bytes
	immRef        // reference type
	immLane       // lane
	immDataZero   // data segment, memory 0
	immData       // data segment
	immElemTable  // element segment, table
	immElem       // element segment
	immTableTable // table, table
)

// shape is the immediate of an instruction and its effect on the operand stack (control and calls are treated apart).
type shape struct {
	imm       immediate
	pop, push uint8
}

// shapes holds the instruction set: core, 0xfc and 0xfd, by their last byte.
var coreShapes, miscShapes, simdShapes = coreSet(), miscSet(), simdSet()

type instructionSet [256]shape

// set gives the opcodes from first to last one shape.
func (s *instructionSet) set(first, last int, imm immediate, pop, push uint8) {
	for op := first; op <= last; op++ {
		s[op] = shape{imm, pop, push}
	}
}

func coreSet() *instructionSet {
	s := new(instructionSet)
	s.set(0x00, 0x01, immNone, 0, 0)     // unreachable, nop
	s.set(0x02, 0x03, immBlock, 0, 0)    // block, loop
	s.set(0x04, 0x04, immBlock, 1, 0)    // if
	s.set(0x05, 0x05, immNone, 0, 0)     // else
	s.set(0x0b, 0x0b, immNone, 0, 0)     // end
	s.set(0x0c, 0x0c, immLabel, 0, 0)    // br
	s.set(0x0d, 0x0d, immLabel, 1, 0)    // br_if
	s.set(0x0e, 0x0e, immLabels, 1, 0)   // br_table
	s.set(0x0f, 0x0f, immNone, 0, 0)     // return
	s.set(0x10, 0x10, immFunc, 0, 0)     // call
	s.set(0x11, 0x11, immIndirect, 1, 0) // call_indirect
	s.set(0x1a, 0x1a, immNone, 1, 0)     // drop
	s.set(0x1b, 0x1b, immNone, 3, 1)     // select
	s.set(0x1c, 0x1c, immTypes, 3, 1)    // select t
	s.set(0x20, 0x20, immLocal, 0, 1)    // local.get
	s.set(0x21, 0x21, immLocal, 1, 0)    // local.set
	s.set(0x22, 0x22, immLocal, 1, 1)    // local.tee
	s.set(0x23, 0x23, immGlobal, 0, 1)   // global.get
	s.set(0x24, 0x24, immGlobal, 1, 0)   // global.set
	s.set(0x25, 0x25, immTable, 1, 1)    // table.get
	s.set(0x26, 0x26, immTable, 2, 0)    // table.set
	s.set(0x28, 0x35, immMem, 1, 1)      // loads
	s.set(0x36, 0x3e, immMem, 2, 0)      // stores
	s.set(0x3f, 0x3f, immZero, 0, 1)     // memory.size
	s.set(0x40, 0x40, immZero, 1, 1)     // memory.grow
	s.set(0x41, 0x41, immI32, 0, 1)
	s.set(0x42, 0x42, immI64, 0, 1)
	s.set(0x43, 0x43, imm4, 0, 1)
	s.set(0x44, 0x44, imm8, 0, 1)
	s.set(0x45, 0xa6, immNone, 2, 1) // comparisons and arithmetic, but for the unary ones:
	s.set(0x45, 0x45, immNone, 1, 1) // i32.eqz
	s.set(0x50, 0x50, immNone, 1, 1) // i64.eqz
	s.set(0x67, 0x69, immNone, 1, 1) // i32.clz, ctz, popcnt
	s.set(0x79, 0x7b, immNone, 1, 1) // i64.clz, ctz, popcnt
	s.set(0x8b, 0x91, immNone, 1, 1) // f32.abs … sqrt
	s.set(0x99, 0x9f, immNone, 1, 1) // f64.abs … sqrt
	s.set(0xa7, 0xc4, immNone, 1, 1) // conversions, sign extension
	s.set(0xd0, 0xd0, immRef, 0, 1)  // ref.null
	s.set(0xd1, 0xd1, immNone, 1, 1) // ref.is_null
	s.set(0xd2, 0xd2, immFunc, 0, 1) // ref.func
	return s
}

func miscSet() *instructionSet {
	s := new(instructionSet)
	s.set(0, 7, immNone, 1, 1)         // saturating conversion
	s.set(8, 8, immDataZero, 3, 0)     // memory.init
	s.set(9, 9, immData, 0, 0)         // data.drop
	s.set(10, 10, immZeroZero, 3, 0)   // memory.copy
	s.set(11, 11, immZero, 3, 0)       // memory.fill
	s.set(12, 12, immElemTable, 3, 0)  // table.init
	s.set(13, 13, immElem, 0, 0)       // elem.drop
	s.set(14, 14, immTableTable, 3, 0) // table.copy
	s.set(15, 15, immTable, 2, 1)      // table.grow
	s.set(16, 16, immTable, 0, 1)      // table.size
	s.set(17, 17, immTable, 3, 0)      // table.fill
	return s
}

func simdSet() *instructionSet {
	s := new(instructionSet)
	s.set(0, 10, immMem, 1, 1)      // v128.load, extending and splatting loads
	s.set(11, 11, immMem, 2, 0)     // v128.store
	s.set(12, 12, imm16, 0, 1)      // v128.const
	s.set(13, 13, imm16, 2, 1)      // i8x16.shuffle
	s.set(14, 14, immNone, 2, 1)    // i8x16.swizzle
	s.set(15, 20, immNone, 1, 1)    // splat
	s.set(21, 34, immLane, 1, 1)    // extract_lane, but for replace_lane:
	s.set(23, 23, immLane, 2, 1)    // i8x16
	s.set(26, 26, immLane, 2, 1)    // i16x8
	s.set(28, 28, immLane, 2, 1)    // i32x4
	s.set(30, 30, immLane, 2, 1)    // i64x2
	s.set(32, 32, immLane, 2, 1)    // f32x4
	s.set(34, 34, immLane, 2, 1)    // f64x2
	s.set(84, 87, immMemLane, 2, 1) // load_lane
	s.set(88, 91, immMemLane, 2, 0) // store_lane
	s.set(92, 93, immMem, 1, 1)     // load_zero

	s.set(35, 81, immNone, 2, 1)  // comparisons, bitwise
	s.set(82, 82, immNone, 3, 1)  // bitselect
	s.set(94, 255, immNone, 2, 1) // arithmetic
	for _, unary := range [][2]int{
		{77, 77}, {83, 83}, {94, 100}, {103, 106}, {116, 117}, {122, 122}, {124, 129}, {131, 132}, {135, 138}, {148, 148},
		{160, 161}, {163, 164}, {167, 170}, {192, 193}, {195, 196}, {199, 202}, {224, 225}, {227, 227}, {236, 237}, {239, 239},
		{248, 255},
	} {
		s.set(unary[0], unary[1], immNone, 1, 1)
	}
	for _, gap := range [][2]int{
		{154, 154}, {162, 162}, {165, 166}, {175, 176}, {178, 180}, {187, 187}, {194, 194}, {197, 198}, {207, 208}, {210, 212},
		{226, 226}, {238, 238},
	} {
		s.set(gap[0], gap[1], immUnknown, 0, 0)
	}
	return s
}

// proposal names what an opcode outside core 2.0 belongs to.
func proposal(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exception handling"
	case op == 0x12, op == 0x13:
		return "tail calls"
	case op == 0x14, op == 0x15, op >= 0xd3 && op <= 0xd6:
		return "typed function references"
	case op == 0xfb:
		return "garbage collection"
	case op == 0xfe:
		return "threads"
	}
	return ""
}
