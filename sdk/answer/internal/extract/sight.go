package extract

import (
	"strings"
	"unsafe"
)

// sights is what one pass over a text sees: where the last end of reasoning, the last
// #### and the first and last box begin, the first backslash and the first dollar; -1 if
// there is none.
type sights struct{ think, mark, slash, dollar, firstBox, lastBox int }

// Eight equal bytes, for a comparison of eight bytes at once.
const (
	each   = 0x0101010101010101
	high   = 0x80 * each
	less   = '<' * each
	hash   = '#' * each
	escape = '\\' * each
	dollar = '$' * each
)

// see reads eight bytes at a time and stops only at those with one of four signs. In
// WebAssembly, this takes a fifth of what a search for each mark takes.
func see(s string) sights {
	g := sights{-1, -1, -1, -1, -1, -1}
	i := 0
	for start := unsafe.Pointer(unsafe.StringData(s)); i+8 <= len(s); i += 8 {
		v := *(*uint64)(unsafe.Add(start, i))
		a, b, c, d := v^less, v^hash, v^escape, v^dollar
		if ((a-each)&^a|(b-each)&^b|(c-each)&^c|(d-each)&^d)&high != 0 {
			g.near(s, i, i+8)
		}
	}
	g.near(s, i, len(s))
	return g
}

// near looks at each byte from i to end.
func (g *sights) near(s string, i, end int) {
	for ; i < end; i++ {
		switch s[i] {
		case '<':
			if strings.HasPrefix(s[i:], "</think>") {
				g.think = i
			}
		case '#':
			if strings.HasPrefix(s[i:], "####") {
				g.mark = i
			}
		case '$':
			if g.dollar < 0 {
				g.dollar = i
			}
		case '\\':
			g.command(s, i)
		}
	}
}

func (g *sights) command(s string, i int) {
	if g.slash < 0 {
		g.slash = i
	}
	if strings.HasPrefix(s[i:], `\boxed`) || strings.HasPrefix(s[i:], `\fbox`) {
		g.lastBox = i
		if g.firstBox < 0 {
			g.firstBox = i
		}
	}
}

// boxBefore is where the last box begins that begins before an index, or -1.
func (g *sights) boxBefore(s string, limit int) int {
	switch {
	case limit > g.lastBox:
		return g.lastBox
	case limit <= g.firstBox:
		return -1
	}
	for end := limit; ; {
		end = strings.LastIndexByte(s[:end], '\\')
		if end < 0 || strings.HasPrefix(s[end:], `\boxed`) || strings.HasPrefix(s[end:], `\fbox`) {
			return end
		}
	}
}
