package promptpage

import (
	"strings"
	"unicode"

	"github.com/pmezard/go-difflib/difflib"
)

// Change says whether text was kept, added or removed.
type Change string

// The changes; the strings are CSS classes of the page.
const (
	Same    Change = "same"
	Added   Change = "added"
	Removed Change = "removed"
)

// Span is a piece of text with the same change.
type Span struct {
	Change Change
	Text   string
}

// Diff returns the word-by-word change from a to b: the spans without the added ones are a,
// and without the removed ones are b.
func Diff(a, b string) (spans []Span) {
	from, to := words(a), words(b)
	add := func(c Change, list []string) {
		if len(list) > 0 {
			spans = append(spans, Span{c, strings.Join(list, "")})
		}
	}
	for _, op := range difflib.NewMatcherWithJunk(from, to, false, nil).GetOpCodes() {
		if op.Tag == 'e' {
			add(Same, from[op.I1:op.I2])
			continue
		}
		add(Removed, from[op.I1:op.I2])
		add(Added, to[op.J1:op.J2])
	}
	return spans
}

// words cuts text before every word; the space after a word belongs to it.
func words(text string) (list []string) {
	start, space := 0, false
	for i, r := range text {
		if now := unicode.IsSpace(r); space && !now {
			list = append(list, text[start:i])
			start = i
			space = false
		} else {
			space = now
		}
	}
	if start < len(text) {
		list = append(list, text[start:])
	}
	return list
}
