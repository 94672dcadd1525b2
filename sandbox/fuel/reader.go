package fuel

import (
	"fmt"
	"unicode/utf8"
)

// reader walks a window of a module's bytes. The first error sticks: every later read returns zero values and the window counts as
// used up, so that parsers stay free of error plumbing and every loop over a declared count ends.
type reader struct {
	buf      []byte
	pos, end int
	bad      *Problem
}

// fail records the first error, at the given offset.
func (r *reader) fail(kind Kind, offset int, format string, args ...any) {
	if r.bad == nil {
		r.bad = &Problem{Kind: kind, Offset: offset, Func: -1, Message: fmt.Sprintf(format, args...)}
	}
	r.pos = r.end
}

func (r *reader) truncated() { r.fail(Malformed, r.end, "unexpected end") }

func (r *reader) more() bool { return r.bad == nil && r.pos < r.end }

func (r *reader) u8() byte {
	if r.pos >= r.end {
		r.truncated()
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// u32 reads an unsigned LEB128 number of at most 32 bits in at most five bytes.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.buf[r.pos] < 0x80 { // nearly every number in a module is one byte long
		r.pos++
		return uint32(r.buf[r.pos-1])
	}
	start, value := r.pos, uint32(0)
	for shift := 0; shift < 35; shift += 7 {
		b := r.u8()
		if r.bad != nil {
			return 0
		}
		if shift == 28 && b > 0x0f {
			break
		}
		value |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	r.fail(Malformed, start, "a number takes more than 32 bits or 5 bytes (overlong LEB128)")
	return 0
}

// signed reads a signed LEB128 number of the given width (32, 33 or 64 bits).
func (r *reader) signed(width int) int64 {
	start, value := r.pos, int64(0)
	for shift := 0; shift < width; shift += 7 {
		b := r.u8()
		if r.bad != nil {
			return 0
		}
		value |= int64(b&0x7f) << shift
		if left := width - shift; left < 7 { // the unused bits of the last byte repeat the sign
			if top := int8(b<<1) >> left; b >= 0x80 || top != 0 && top != -1 {
				break
			}
		}
		if b < 0x80 {
			if used := shift + 7; used < 64 {
				value = value << (64 - used) >> (64 - used)
			}
			return value
		}
	}
	r.fail(Malformed, start, "a signed number takes more than %d bits (overlong LEB128)", width)
	return 0
}

func (r *reader) bytes(n uint32) []byte {
	if r.bad != nil || uint64(n) > uint64(r.end-r.pos) {
		r.truncated()
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) name() string {
	start := r.pos
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail(Malformed, start, "a name is not valid UTF-8")
		return ""
	}
	return string(b)
}

// count reads the length of a vector whose items take at least one byte each, so that nothing is ever sized by a number that the
// module merely claims.
func (r *reader) count() int {
	start := r.pos
	n := r.u32()
	if uint64(n) > uint64(r.end-r.pos) {
		r.fail(Malformed, start, "%d items declared, %d bytes left", n, r.end-r.pos)
		return 0
	}
	return int(n)
}

// window returns a reader over the next n bytes and steps over them.
func (r *reader) window(n uint32) reader {
	start := r.pos
	r.bytes(n)
	return reader{buf: r.buf, pos: start, end: r.pos, bad: r.bad}
}
