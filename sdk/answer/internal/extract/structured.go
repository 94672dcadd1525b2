package extract

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// structured is the mathematics at the end of the last sentence where it is more than
// the number that ends at the index: a date, "x = 3 or x = 5", "between 2 and 3",
// "3 to 4", sqrt(200), [[1, 0], [0, 1]].
func structured(text, s string, end int) (string, bool) {
	if s == "" || len(s) > 160 {
		return "", false
	}
	if date, at := syntax.DateIn(s); at >= 0 && !strings.ContainsAny(s[at:], "0123456789") {
		return date, true
	}
	if !hints(s) {
		return "", false
	}
	s = tail(s)
	return s, s != "" && shaped(s, text[:end])
}

// hints tells that a sentence has one of the signs of a structure, at the cost of a look at
// each byte.
func hints(s string) bool {
	equals := 0
	for i := range len(s) {
		switch s[i] {
		case '=':
			equals++
		case '[', 'b', 's':
			if rest := s[i:]; strings.HasPrefix(rest, "[[") || strings.HasPrefix(rest, "between ") || strings.HasPrefix(rest, "sqrt(") {
				return true
			}
		case 't':
			if strings.HasPrefix(s[i:], "to ") {
				return true
			}
		}
	}
	return equals > 1
}

// tail is the end of a sentence without words.
func tail(s string) string {
	start := len(s)
	for start > 0 {
		word := strings.LastIndexByte(s[:start-1], ' ') + 1
		if syntax.Prose(s[max(word-1, 0):min(start+1, len(s))]) {
			break
		}
		start = word
		if start == 0 {
			break
		}
	}
	s = strings.TrimLeft(s[start:], " ,")
	for _, w := range []string{"so ", "or ", "and ", "is ", "So ", "to "} {
		s = strings.TrimPrefix(s, w)
	}
	return strings.TrimSuffix(s, ",")
}

// shaped tells that a passage has a structure which its last number has not.
func shaped(s, text string) bool {
	switch {
	case strings.HasPrefix(s, "between ") || strings.HasPrefix(s, "[[") || strings.HasPrefix(s, "sqrt(") && strings.HasSuffix(s, ")"):
		return true
	case strings.Count(s, "=") > 1 && (hasWord(s, "or") || hasWord(s, "and")) && letter(s[0]):
		return strings.Count(s, "=") == 1+strings.Count(s, " or ")+strings.Count(s, " and ")+strings.Count(s, ", ")-strings.Count(s, ", or")-strings.Count(s, ", and")
	case strings.Contains(s, " to "):
		return digit(s[0]) && strings.Contains(text, "ratio")
	}
	return false
}
