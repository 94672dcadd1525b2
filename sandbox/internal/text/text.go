// Package text makes the texts of guests safe to show.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes guest text safe to show: control characters (except line feed
// and tab), invisible direction marks and bytes that are not UTF-8 become \x1b,
// \u202e and the like. Most text is returned unchanged.
func Escape(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		c := s[i]
		clean = c >= ' ' && c < 0x7f || c == '\n' || c == '\t'
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			writeHex(&b, 'x', 2, rune(s[i]))
		case r == '\n' || r == '\t':
			b.WriteByte(byte(r))
		case r < 0x80 && unicode.IsControl(r):
			writeHex(&b, 'x', 2, r)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0x2028, r == 0x2029:
			writeHex(&b, 'u', 4, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func writeHex(b *strings.Builder, kind byte, digits int, r rune) {
	b.WriteByte('\\')
	b.WriteByte(kind)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b.WriteByte("0123456789abcdef"[r>>shift&15])
	}
}
