package tracespage

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a text that a page shows before the reader asks for all of it.
const (
	mostBytes = 2000
	mostLines = 40
)

// Text is a text of a span, possibly cut.
type Text struct {
	Text  string `json:"text"`
	Bytes int    `json:"bytes,omitempty"` // of the whole text, if it was cut
	Part  string `json:"part,omitempty"`  // its name for Whole, if it was cut
}

// clipper cuts the texts of a view, except for the part that was requested whole.
type clipper struct {
	want  string
	found *string
}

// text returns s, cut to what a page shows. The joined part names the text within its
// span.
func (c *clipper) text(s string, part ...any) Text {
	name := c.name(part)
	if c.want != "" && name == c.want {
		c.found = &s
	}
	short := cut(s)
	if len(short) == len(s) {
		return Text{Text: s}
	}
	return Text{Text: short, Bytes: len(s), Part: name}
}

// maybe is like text, but returns nil for an empty text.
func (c *clipper) maybe(s string, part ...any) *Text {
	if s == "" {
		return nil
	}
	t := c.text(s, part...)
	return &t
}

func (c *clipper) name(part []any) string {
	words := make([]string, len(part))
	for i, p := range part {
		words[i] = fmt.Sprint(p)
	}
	return strings.Join(words, ".")
}

// cut returns the beginning of s: whole lines if there are too many lines, whole
// characters if there are too many bytes.
func cut(s string) string {
	at, lines := 0, 0
	for at < len(s) && at < mostBytes {
		if s[at] == '\n' {
			if lines++; lines == mostLines {
				return s[:at]
			}
		}
		at++
	}
	for at < len(s) && at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at]
}
