package fuel

import "github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"

// Version is the version of the code that Instrument writes and of the rest of
// Instrumented. Caches of its results have it in their keys.
const Version = 3

// Segment is what a module has in its memory before it runs.
type Segment struct {
	Offset uint32
	Bytes  []byte
}

// Skeleton returns the metered module without the code of its functions: every
// body is unreachable, and custom sections are omitted. The segments are the content
// of its memory, which the skeleton lacks unless the module can read it again. Everything
// else, including every index, is the same, so native code made from the metered
// module serves instances of the skeleton, which takes much less time to read
// and to validate.
func (m *Instrumented) Skeleton() (skeleton []byte, segments []Segment) {
	r := binary.Reader{Buf: m.Wasm, Pos: 8, End: len(m.Wasm)}
	e := binary.Encoder{Out: append(make([]byte, 0, len(m.Wasm)/4), m.Wasm[:8]...)}
	size := uint64(0) // of the memory that belongs to the module, in bytes
	if memory := m.Info.Memory; memory != nil && !memory.Imported {
		size = uint64(memory.Min) << 16
	}
	for r.More() {
		start := r.Pos
		id := binary.SectionID(r.U8())
		content := r.Window(r.U32())
		section := binary.Encoder{}
		switch id {
		case binary.SecCustom:
			continue
		case binary.SecCode:
			hollow(&section, content.U32())
		case binary.SecData:
			segments = drain(&section, &content, size)
		case binary.SecDataCount:
			size = 0 // memory.init may read the segments
			fallthrough
		default:
			e.Raw(m.Wasm[start:r.Pos]...)
			continue
		}
		e.Raw(byte(id))
		e.U32(uint32(len(section.Out)))
		e.Raw(section.Out...)
	}
	return e.Out, segments
}

// hollow writes the bodies of n functions.
func hollow(e *binary.Encoder, n uint32) {
	e.U32(n)
	for range n {
		e.Raw(3, 0, byte(binary.OpUnreachable), byte(binary.OpEnd)) // its size, no locals
	}
}

// drain writes a data section without the content of the segments that begin at a constant
// and fit into size bytes, and returns these.
func drain(e *binary.Encoder, r *binary.Reader, size uint64) (segments []Segment) {
	n := r.U32()
	e.U32(n)
	for range n {
		start := r.Pos
		if r.U32() != 0 || binary.Opcode(r.U8()) != binary.OpI32Const { // neither active nor constant
			e.Raw(r.Buf[start:r.End]...)
			return segments
		}
		offset := uint32(r.Signed(32))
		if binary.Opcode(r.U8()) != binary.OpEnd {
			e.Raw(r.Buf[start:r.End]...)
			return segments
		}
		end := r.Pos
		content := r.Bytes(r.U32())
		if uint64(offset)+uint64(len(content)) > size {
			e.Raw(r.Buf[start:r.Pos]...)
			continue
		}
		e.Raw(r.Buf[start:end]...)
		e.U32(0)
		segments = append(segments, Segment{offset, content})
	}
	return segments
}
