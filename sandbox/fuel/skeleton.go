package fuel

// Version numbers the code that Instrument writes and the form of what stands beside it in Instrumented. Caches of what comes of it
// have it in their keys.
const Version = 2

// Skeleton returns the metered module without what its functions do: every body is unreachable, and custom sections are left out.
// Everything else, and with it every index, is the same, so that native code made of the metered module serves instances of the
// skeleton, which takes a small part of the time to read and to validate.
func (m *Instrumented) Skeleton() []byte {
	r := reader{buf: m.Wasm, pos: 8, end: len(m.Wasm)}
	e := encoder{out: append(make([]byte, 0, len(m.Wasm)/4), m.Wasm[:8]...)}
	for r.more() {
		start := r.pos
		id := sectionID(r.u8())
		content := r.window(r.u32())
		switch id {
		case secCustom:
		case secCode:
			n := content.u32()
			var code encoder
			code.u32(n)
			for range n {
				code.raw(3, 0, byte(opUnreachable), byte(opEnd)) // its size, no locals
			}
			e.raw(byte(id))
			e.u32(uint32(len(code.out)))
			e.raw(code.out...)
		default:
			e.raw(m.Wasm[start:r.pos]...)
		}
	}
	return e.out
}
