package fuel

import (
	"unicode/utf8"

	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/binary"
	"github.com/merit-rl/merit/sandbox/internal/fuel/internal/gate"
)

// LongestLiteral limits the literals that Literals finds, in bytes.
const LongestLiteral = 256

// recent is how many constants back the address of a text may be, when its length is met: compilers
// put a few arguments in between.
const recent = 4

// Literals passes texts to found that a module, which passed the gate, probably compares or prints,
// until found returns false. A text is what an address and a length point to, in code or in data; a
// string in data that ends with a NUL, or that is in UTF-16; or a constant of printable bytes, which
// compilers compare with in place of a short text. If own is not nil, only what the functions point
// to for which own is true, by their indices.
func Literals(wasm []byte, limits Limits, own func(function int) bool, found func(text string) bool) {
	m := gate.Parse(wasm, limits)
	if len(m.Refused.Problems) > 0 {
		return
	}
	l := literals{Module: m, found: found}
	l.segments()
	for i := 0; i < len(m.Bodies) && !l.done; i++ {
		if own == nil || own(m.ImportedFuncs+i) {
			l.code(i)
		}
	}
	for i := 0; i < len(l.data) && own == nil; i++ {
		l.pointers(l.data[i].Bytes)
		l.strings(l.data[i].Bytes)
	}
}

type literals struct {
	*gate.Module
	data  []Segment // those whose place is known
	found func(string) bool
	done  bool
}

// give passes on a text if people could have written it.
func (l *literals) give(text []byte) {
	if l.done || len(text) == 0 || len(text) > LongestLiteral || !utf8.Valid(text) {
		return
	}
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return
		}
	}
	l.done = !l.found(string(text))
}

// segments finds the data whose address is a constant.
func (l *literals) segments() {
	for _, s := range l.Sections {
		if s.ID != binary.SecData {
			continue
		}
		r := binary.Reader{Buf: l.Wasm, Pos: s.Start, End: s.End}
		for n := r.U32(); n > 0 && r.Bad == nil; n-- {
			kind := r.U32()
			if kind == 2 { // of a memory that is named
				r.U32()
			}
			at := uint32(0)
			if kind != 1 {
				if binary.Opcode(r.U8()) != binary.OpI32Const {
					return
				}
				at = uint32(r.Signed(32))
				r.U8()
			}
			if bytes := r.Bytes(r.U32()); kind != 1 && r.Bad == nil {
				l.data = append(l.data, Segment{at, bytes})
			}
		}
	}
}

// at returns the data at an address, or nil.
func (l *literals) at(address, size uint64) []byte {
	for _, s := range l.data {
		if from := address - uint64(s.Offset); address >= uint64(s.Offset) && from < uint64(len(s.Bytes)) && size <= uint64(len(s.Bytes))-from {
			return s.Bytes[from : from+size]
		}
	}
	return nil
}

// code finds the constants of a function.
func (l *literals) code(i int) {
	r := binary.Reader{Buf: l.Wasm, Pos: l.Bodies[i].Start, End: l.Bodies[i].End}
	if _, ok := l.Locals(&r, l.ImportedFuncs+i); !ok {
		return
	}
	d := binary.Decoder{Reader: r}
	var last [recent]uint64
	for n := 0; d.Next() && !l.done; {
		if d.In.Op != binary.OpI32Const && d.In.Op != binary.OpI64Const {
			continue
		}
		width := 32
		if d.In.Op == binary.OpI64Const {
			width = 64
		}
		c := binary.Reader{Buf: l.Wasm, Pos: d.In.Pos + 1, End: d.In.End}
		v := uint64(c.Signed(width))
		if width == 32 {
			v = uint64(uint32(v))
		}
		if v > 0 && v <= LongestLiteral {
			for _, address := range last[:min(n, recent)] {
				l.give(l.at(address, v))
			}
		}
		l.give(printed(v))
		last[n%recent] = v
		n++
	}
}

// printed returns the bytes of a constant if they look like a text of at least two.
func printed(v uint64) (text []byte) {
	for ; v > 0; v >>= 8 {
		if c := byte(v); (c < ' ' || c > '~') && c != '\n' {
			return nil
		}
		text = append(text, byte(v))
	}
	if len(text) < 2 {
		return nil
	}
	return text
}

// pointers finds addresses in data that a length follows, which is how slices of texts are laid out.
func (l *literals) pointers(data []byte) {
	for i := 0; i+8 <= len(data) && !l.done; i += 4 {
		if size := little.Uint32(data[i+4:]); size > 0 && size <= LongestLiteral {
			l.give(l.at(uint64(little.Uint32(data[i:])), uint64(size)))
		}
	}
}

// strings finds texts between NULs, and texts in UTF-16 whose characters are ASCII.
func (l *literals) strings(data []byte) {
	for from := 0; from < len(data) && !l.done; {
		end := from
		for end < len(data) && data[end] != 0 {
			end++
		}
		if end-from > 1 {
			l.give(data[from:end])
		}
		from = end + 1
	}
	var wide []byte
	for i := 0; i < len(data) && !l.done; i += 2 {
		last := i+1 == len(data) && len(wide) > 0 // a linker leaves out zeros at the end
		if c := data[i]; (last || i+1 < len(data) && data[i+1] == 0) && (c >= ' ' && c <= '~') && len(wide) <= LongestLiteral {
			wide = append(wide, c)
			continue
		}
		if len(wide) > 1 {
			l.give(wide)
		}
		wide = wide[:0]
	}
	if len(wide) > 1 {
		l.give(wide)
	}
}
