package text

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Promise: guest text cannot move a cursor, change a colour or turn the
// direction of what follows; other text is left alone.
func TestEscape(t *testing.T) {
	for _, c := range [][2]string{
		{"plain\ttext\n", "plain\ttext\n"}, {"ünïcödé 🎉", "ünïcödé 🎉"}, {"", ""},
		{"\x1b[31m", `\x1b[31m`}, {"a\rb\x00\x7f", `a\x0db\x00\x7f`}, {"\xff\xc3", `\xff\xc3`},
		{"\u0085\u202egnp", `\u0085\u202egnp`}, {"\u2028", `\u2028`},
	} {
		require.Equal(t, c[1], Escape(c[0]))
	}
}

// FuzzEscape holds the promise for any bytes.
func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[0m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		out := Escape(s)
		require.True(t, utf8.ValidString(out))
		require.Equal(t, out, Escape(out))
		for _, r := range out {
			require.True(t, r == '\n' || r == '\t' || r >= ' ' && r != 0x7f)
		}
	})
}
