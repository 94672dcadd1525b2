package extract

import (
	"slices"
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// mostPhrases bounds how many times the word "answer" is looked at.
const mostPhrases = 32

// phrases yields what follows "final answer is", "answer:" and "answer", in this order.
func phrases(text string, yield func(Candidate) bool) bool {
	var at [mostPhrases]int
	n := occurrences(text, at[:])
	for priority := range 3 {
		for i := range n {
			rest, got := phrase(text, at[i])
			if got != priority {
				continue
			}
			if !follow(rest, yield) {
				return false
			}
		}
	}
	return true
}

// occurrences fills at with the ends of the last occurrences of "answer", the last one
// first. It looks for the letter w, which is the rarest.
func occurrences(text string, at []int) int {
	n := 0
	for from := 0; ; from++ {
		i := strings.IndexByte(text[from:], 'w')
		if i < 0 {
			break
		}
		from += i
		if from >= 3 && strings.HasPrefix(text[from:], "wer") && text[from-2:from] == "ns" && text[from-3]|0x20 == 'a' {
			at[n%len(at)] = from + len("wer")
			n++
		}
	}
	if n > len(at) { // a ring: the oldest is at n
		slices.Reverse(at[:n%len(at)])
		slices.Reverse(at[n%len(at):])
		n = len(at)
		return n
	}
	slices.Reverse(at[:n])
	return n
}

// phrase classifies an occurrence: 0 for "final answer … is", 1 for "answer:",
// 2 for another, and gives the text after it.
func phrase(text string, end int) (rest string, priority int) {
	rest = text[end:]
	before := strings.TrimRight(text[max(end-20, 0):end-len("answer")], " ")
	if len(before) >= 5 && strings.EqualFold(before[len(before)-5:], "final") {
		head := rest[:min(len(rest), 110)]
		if i := strings.Index(head, " is"); i >= 0 && !strings.Contains(head[:i], "\n\n") {
			return strings.TrimLeft(rest[i+3:], ": "), 0
		}
		priority = 1
	}
	rest = strings.TrimLeft(rest, "*_ ")
	if r, ok := strings.CutPrefix(rest, ":"); ok {
		return strings.TrimLeft(r, "* \n"), 1
	}
	if r, ok := strings.CutPrefix(rest, "is"); ok && r != "" && !letter(r[0]) {
		return strings.TrimLeft(r, ":* \n"), min(priority+1, 2)
	}
	return rest, 2
}

// follow yields the mathematics or the sentence at the beginning of rest.
func follow(rest string, yield func(Candidate) bool) bool {
	window := rest[:min(len(rest), 60)]
	if i := firstMath(window); i >= 0 && sameSentence(rest[:i]) {
		if c, ok := mathAt(rest[i:]); ok {
			return yield(c)
		}
	}
	sentence := firstSentence(rest)
	if sentence == "" {
		return true
	}
	if !syntax.Prose(sentence) {
		return yield(Candidate{Text: sentence, Math: true})
	}
	if number, ok := firstNumber(sentence); ok {
		return yield(Candidate{Text: number})
	}
	return yield(Candidate{Text: sentence})
}

func sameSentence(s string) bool { return !strings.Contains(s, ". ") && !strings.Contains(s, "\n\n") }

// firstSentence is the text up to the end of the sentence or line.
func firstSentence(s string) string {
	s = strings.TrimLeft(s, "*_ :\n")
	for i := range len(s) {
		if s[i] == '\n' || i > 300 {
			s = s[:i]
			break
		}
		if s[i] == '.' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n' || s[i+1] == '*' || s[i+1] == '<') {
			s = s[:i]
			break
		}
	}
	return strings.Trim(s, " *_.\"'")
}

// firstMath is where mathematics begins, or -1.
func firstMath(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '['):
			return i
		case s[i] == '\\':
			i++
		case s[i] == '$' && (i == 0 || !digit(s[i-1])):
			return i
		}
	}
	return -1
}

// span is the mathematics at the beginning of s: its contents and its length.
func span(s string) (in string, n int) {
	for _, d := range delimiters {
		if !strings.HasPrefix(s, d.open) {
			continue
		}
		if d.open == "$" && price(s[1:]) {
			return "", 0
		}
		end := shut(s[len(d.open):], d.shut)
		if end < 0 {
			return "", 0
		}
		in = s[len(d.open) : len(d.open)+end]
		if d.open == "$" && (strings.Contains(in, "\n") || currency(in)) || strings.TrimSpace(in) == "" {
			return "", 0
		}
		return in, len(d.open) + end + len(d.shut)
	}
	return "", 0
}

// price tells that a dollar sign begins an amount and not mathematics: a number with a word
// or a calculation of GSM8K comes next.
func price(s string) bool {
	if strings.HasPrefix(s, "<<") {
		return true
	}
	i := 0
	for i < len(s) && (digit(s[i]) || s[i] == '.' || s[i] == ',') {
		i++
	}
	return i > 0 && i+4 < len(s) && s[i] == ' ' && lower(s[i+1]) && lower(s[i+2]) && lower(s[i+3]) && strings.IndexByte(s[i:min(i+30, len(s))], '$') < 0
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }

// shut finds the delimiter that ends mathematics.
func shut(s, d string) int {
	if d == "$" {
		i := strings.IndexByte(s, '$')
		if i < 0 || strings.IndexByte(s[:i], '\\') < 0 {
			return i
		}
	}
	next := marks{text: s}
	for i := next.from(0); i < len(s); i = next.from(i) {
		if strings.HasPrefix(s[i:], d) {
			return i
		}
		if i++; s[i-1] == '\\' {
			i++
		}
		if i > len(s) {
			break
		}
	}
	return -1
}

// currency tells that what is between two dollars is prose about money.
func currency(in string) bool {
	if in == "" || !digit(in[0]) || strings.IndexByte(in, '\\') >= 0 {
		return false
	}
	return syntax.Prose(in)
}

// mathAt is the mathematics at the beginning of s, with what "and", "or" or a comma joins to it.
func mathAt(s string) (Candidate, bool) {
	in, n := span(s)
	if n == 0 {
		return Candidate{}, false
	}
	c := Candidate{Text: in, Math: true, Percent: percent(s[n:])}
	rest := s[n:]
	for range 5 {
		skip := joint(rest)
		if skip == 0 {
			break
		}
		next, m := span(rest[skip:])
		if m == 0 {
			break
		}
		c.Text, rest = c.Text+" , "+next, rest[skip+m:]
	}
	return c, true
}

// joint is the length of a comma or a word between two pieces of mathematics.
func joint(s string) int {
	t := strings.TrimLeft(s, " \n")
	n := 0
	for _, w := range []string{",", "and", "or"} {
		if strings.HasPrefix(t, w) {
			n += len(w)
			t = strings.TrimLeft(t[len(w):], " ")
		}
	}
	if n == 0 {
		return 0
	}
	return len(s) - len(t)
}
