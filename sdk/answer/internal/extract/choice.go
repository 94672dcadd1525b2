package extract

import (
	"strings"
)

// Choice tells whether a gold answer is a letter of a multiple choice: B, (B),
// \text{(B)}, "B) 42".
func Choice(gold string) (byte, bool) {
	if !lettered(gold) {
		return 0, false
	}
	s := strings.TrimSpace(gold)
	if in, ok := enclosed(s); ok {
		s = in
	}
	if b, ok := lastBox(s); ok {
		s = b.in
	}
	letter, rest, ok := option(s)
	return letter, ok && rest == ""
}

// lettered tells that a text has a letter from A to J.
func lettered(s string) bool {
	for i := range min(len(s), 60) {
		if s[i] >= 'A' && s[i] <= 'J' {
			return true
		}
	}
	return false
}

// option reads a letter from A to J at the beginning of a passage, and what
// follows it in the same passage.
func option(s string) (letter byte, rest string, ok bool) {
	for _, p := range []string{`\text`, `\textbf`, `\mathrm`, `\mathbf`, `\textnormal`, `\mbox`} {
		if in, found := strings.CutPrefix(s, p+"{"); found {
			s = strings.TrimSuffix(in, "}")
		}
	}
	s = strings.Trim(s, " *.$")
	open := strings.HasPrefix(s, "(")
	s = strings.TrimPrefix(s, "(")
	if s == "" || s[0] < 'A' || s[0] > 'J' {
		return 0, "", false
	}
	letter, rest = s[0], s[1:]
	if rest != "" && !strings.ContainsAny(rest[:1], ").:} ,") {
		return 0, "", false
	}
	shut := strings.HasPrefix(rest, ")") || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "}")
	rest = strings.Trim(rest, ").:}, *$")
	return letter, rest, open || shut || rest == ""
}

// ChoiceIn is the letter that a reply chooses: in its box, after "answer", or the
// last letter in parentheses or alone at the end.
func ChoiceIn(text string) (letter byte, passage string, ok bool) {
	if seen := see(text); seen.think >= 0 {
		text = text[seen.think+len("</think>"):]
	}
	if letter, _, ok := option(strings.TrimSpace(text)); ok && len(strings.TrimSpace(text)) < 40 {
		return letter, strings.TrimSpace(text), true
	}
	if b, found := lastBox(text); found {
		letter, _, ok := option(b.in)
		return letter, b.in, ok
	}
	var at [mostPhrases]int
	n := occurrences(text, at[:])
	for priority := range 3 {
		for i := range n {
			rest, got := phrase(text, at[i])
			if got != priority {
				continue
			}
			if letter, ok := near(rest); ok {
				return letter, string(letter), true
			}
		}
	}
	if letter, passage, ok := optionWord(text); ok {
		return letter, passage, true
	}
	return alone(text)
}

// optionWord is the letter after the last "option" or "choice" that no "not" denies.
func optionWord(text string) (letter byte, passage string, ok bool) {
	for end := len(text); end > 0; {
		i := max(strings.LastIndex(text[:end], "ption "), strings.LastIndex(text[:end], "hoice "))
		if i < 1 {
			break
		}
		end = i
		rest := strings.TrimLeft(text[i+len("ption "):], "(*")
		before := strings.TrimRight(text[:i-1], " ")
		if rest != "" && rest[0] >= 'A' && rest[0] <= 'J' && single(rest, 0) && !strings.HasSuffix(before, "not") {
			return rest[0], rest[:1], true
		}
	}
	return 0, "", false
}

// near is a letter that stands alone in the first words of a sentence.
func near(rest string) (byte, bool) {
	window := rest[:min(len(rest), 50)]
	for i := range len(window) {
		c := window[i]
		if c == '\n' && i > 20 {
			break
		}
		if c >= 'A' && c <= 'J' && single(window, i) && !article(window, i) {
			return c, true
		}
	}
	return 0, false
}

// single tells that the letter at i is not part of a word.
func single(s string, i int) bool {
	before := i == 0 || !letter(s[i-1]) && !digit(s[i-1]) && s[i-1] != '\'' && s[i-1] != '\\'
	after := i+1 == len(s) || !letter(s[i+1]) && !digit(s[i+1]) && s[i+1] != '\'' && s[i+1] != '_' && s[i+1] != '='
	return before && after
}

// article tells an English "A" or "I" from a choice: a lower-case word follows it.
func article(s string, i int) bool {
	return (s[i] == 'A' || s[i] == 'I') && i+2 < len(s) && s[i+1] == ' ' && s[i+2] >= 'a' && s[i+2] <= 'z'
}

// alone is the last letter in parentheses, or at the beginning or end of a line.
func alone(text string) (byte, string, bool) {
	for i := len(text) - 1; i >= 0 && i > len(text)-2000; i-- {
		c := text[i]
		if c < 'A' || c > 'J' || !single(text, i) {
			continue
		}
		parens := i > 0 && text[i-1] == '(' && i+1 < len(text) && text[i+1] == ')'
		end := strings.Trim(text[i+1:], " .*\n)") == ""
		start := (i == 0 || text[i-1] == '\n' || text[i-1] == '*') && i+1 < len(text) && (text[i+1] == '.' || text[i+1] == ')' || text[i+1] == '*')
		if parens || end || start {
			return c, text[i : i+1], true
		}
	}
	return 0, "", false
}
