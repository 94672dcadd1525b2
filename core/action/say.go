package action

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of messages to a model, in bytes.
const (
	maxSentence = 300
	maxList     = 160 // of names
	maxQuote    = 48  // of quotations from its answer
)

// clip cuts s, which is UTF-8, to at most limit bytes, between characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "…"
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// quote quotes the model's answer.
func quote(s string) string { return strconv.Quote(clip(strings.TrimSpace(s), maxQuote)) }

// list joins names, as many as fit.
func list(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 && b.Len()+len(name) > maxList {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(clip(name, maxQuote))
	}
	return b.String()
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
