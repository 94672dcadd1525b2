package internal_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// habits are phrases that a reader stumbles over, each with what to write.
var habits = []struct {
	phrase *regexp.Regexp
	write  string
}{
	{regexp.MustCompile(`(?i)\bgo(es)? on (with|to|from)\b`), "continue, resume"},
	{regexp.MustCompile(`(?i)\b(lies|lie) in\b`), "is in"},
	{regexp.MustCompile(`(?i)\bas it came\b`), "unchanged"},
	{regexp.MustCompile(`(?i)\bnobody who(m)?\b`), "nobody"},
	{regexp.MustCompile(`(?i)\bwhat came of\b`), "the result"},
	{regexp.MustCompile(`(?i)\b(second|minute)s? of processor(?:[.,;:)]|$| [^t])`), "CPU second"},
	{regexp.MustCompile(`(?i)\bvouch(es)?\b`), "is signed by, guarantees"},
	{regexp.MustCompile(`(?i)\bis asked again\b`), "Merit retries"},
	{regexp.MustCompile(`(?i)\bthat are there\b`), "existing"},
	{regexp.MustCompile(`(?i)\bin the place of\b`), "instead of"},
	{regexp.MustCompile(`(?i)(?:^|[^e]|[^r]e) is no (?:name|number|text|file|list|object|digest|reward|score|run|module|policy|address)\b`), "is not a …"},
}

// inQuotes is what a page quotes: code, and messages of the program.
var inQuotes = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"")

// Promise: pages are free of the phrases that docs/style.md warns of.
func TestPlainWords(t *testing.T) {
	testneeds.NotShort(t)
	n := 0
	for page, text := range pages(t) {
		if page == "docs/style.md" || strings.HasPrefix(page, "docs/reference/") {
			continue // it quotes them; and help texts have a pass of their own
		}
		for i, line := range strings.Split(inQuotes.ReplaceAllString(text, ""), "\n") {
			for _, h := range habits {
				if found := h.phrase.FindString(line); found != "" {
					t.Errorf("%s:%d: %q: write %s", page, i+1, strings.TrimSpace(found), h.write)
				}
			}
		}
		n++
	}
	require.Positive(t, n)
}
