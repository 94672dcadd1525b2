package bounds

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut returns s as UTF-8 of at most limit bytes, with an ellipsis if it was
// longer.
func Cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// Clean makes untrusted text safe to show on one line of a terminal: it cuts
// the text to limit bytes and escapes unprintable characters.
func Clean(s string, limit int) string {
	s = Cut(s, limit)
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return Cut(b.String(), limit)
}

// Lines is Clean for text of several lines. It keeps the line breaks.
func Lines(s string, limit int) string {
	lines := strings.Split(Cut(s, limit), "\n")
	for i := range lines {
		lines[i] = Clean(lines[i], limit)
	}
	return strings.Join(lines, "\n")
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\uFFFD' }
