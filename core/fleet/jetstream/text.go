package jetstream

import (
	"strings"
	"unicode"
)

const (
	maxCause = 2 << 10 // bytes of why a try failed
	maxLog   = 1 << 10 // bytes of a line of a log
)

// plain is text that another end wrote, for people: of at most so many bytes, and
// nothing in it that a terminal obeys.
func plain(text []byte, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '�'
	}, strings.ToValidUTF8(string(text), "�"))
	if cut {
		clean += " …"
	}
	return clean
}
