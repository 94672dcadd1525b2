package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// last yields the last mathematics or number of a text, whichever ends later, and
// then the other.
func last(text string, seen sights, yield func(Candidate) bool) {
	sentence := lastSentence(text)
	if s, ok := listed(sentence); ok && !yield(Candidate{Text: s, Math: true}) {
		return
	}
	c, end := lastMath(text, seen)
	number, at, ok := lastNumberAt(text)
	if (ok || end < 0) && at >= end {
		if s, ok := structured(text, sentence, max(at, 0)); ok && !yield(Candidate{Text: s}) {
			return
		}
	}
	if ok && (end < 0 || at > end) {
		if !yield(Candidate{Text: number, Percent: percent(text[at:])}) {
			return
		}
		ok = false
	}
	if end >= 0 && !yield(c) {
		return
	}
	if ok && !yield(Candidate{Text: number}) {
		return
	}
	if sentence != "" {
		yield(Candidate{Text: sentence})
	}
}

// lastMath is the last mathematics between delimiters and where it ends, or -1.
func lastMath(text string, seen sights) (Candidate, int) {
	found, end := Candidate{}, -1
	next := marks{text: text, backslash: len(text)}
	if seen.slash >= 0 {
		next.backslash = seen.slash
	}
	if next.dollar = len(text); seen.dollar >= 0 {
		next.dollar = seen.dollar
	}
	for i := 0; i < len(text); {
		if i = next.from(i); i == len(text) {
			break
		}
		if text[i] == '\\' && (i+1 >= len(text) || text[i+1] != '(' && text[i+1] != '[') {
			if strings.HasPrefix(text[i:], `\frac{`) {
				if n := bareFraction(text[i:]); n > 0 {
					found, end = Candidate{Text: text[i : i+n], Math: true}, i+n
				}
			}
			i += 2
			continue
		}
		in, n := span(text[i:])
		if n == 0 || i > 0 && text[i] == '$' && digit(text[i-1]) {
			i++
			continue
		}
		if c, ok := mathAt(text[i:]); ok && len(c.Text) > len(in) {
			found = c
			i += n
			for skip := joint(text[i:]); skip > 0; skip = joint(text[i:]) {
				_, m := span(text[i+skip:])
				if m == 0 {
					break
				}
				i += skip + m
			}
			end = i
			continue
		}
		i += n
		found, end = Candidate{Text: in, Math: true, Percent: percent(text[i:])}, i
	}
	return found, end
}

// marks finds dollars and backslashes. It remembers where the next of each is.
type marks struct {
	text              string
	dollar, backslash int // 0 if it is not known
}

// from is where the next dollar or backslash is, or the end.
func (m *marks) from(i int) int {
	m.dollar = m.next('$', m.dollar, i)
	m.backslash = m.next('\\', m.backslash, i)
	return min(m.dollar, m.backslash)
}

func (m *marks) next(c byte, known, from int) int {
	if known >= from && known > 0 {
		return known
	}
	if i := strings.IndexByte(m.text[from:], c); i >= 0 {
		return from + i
	}
	return len(m.text)
}

// bareFraction is the length of \frac{1}{2} of plain numbers.
func bareFraction(s string) int {
	s = s[:min(len(s), 60)] // no more, or nested fractions would be read again at each level
	a := syntax.Closing(s, len(`\frac`))
	if a < 0 || a+1 >= len(s) || s[a+1] != '{' {
		return 0
	}
	b := syntax.Closing(s, a+1)
	if b < 0 || strings.Trim(s[len(`\frac`):b], "{}0123456789.-") != "" {
		return 0
	}
	return b + 1
}

func lastNumber(text string) (string, bool) {
	n, _, ok := lastNumberAt(text)
	return n, ok
}

// lastNumberAt is the last number, fraction or sum of plain text that begins a
// word, and where it ends.
func lastNumberAt(text string) (string, int, bool) {
	end := len(text)
	for tries := 0; tries < 200; tries++ {
		i := end - 1
		for i >= 0 && !digit(text[i]) {
			i--
		}
		if i < 0 {
			return "", 0, false
		}
		stop := numberEnd(text, i+1)
		start := numberStart(text, i)
		if anchored(text, start) {
			start = expressionStart(text, start)
			stop = quantityEnd(text, stop)
			return strings.TrimSpace(text[start:stop]), stop, true
		}
		end = start
	}
	return "", 0, false
}

// quantityEnd extends a number over a fraction, a magnitude, a unit, a half of the day:
// 3 ¼, 3 million, 5 km/h, 8 p.m.
func quantityEnd(text string, end int) int {
	rest := text[end:]
	if len(rest) < 2 || rest[0] == '.' && rest[1] != '.' || rest[0] == '\n' || rest[0] == ',' {
		return end
	}
	bare := strings.TrimLeft(rest, " ")
	if bare != "" && bare[0] >= utf8.RuneSelf {
		if r, n := utf8.DecodeRuneInString(bare); strings.ContainsRune(vulgar, r) && n > 1 {
			return end + len(rest) - len(bare) + n
		}
	}
	if rest[0] == '!' {
		return end + 1
	}
	if strings.HasPrefix(rest, "...") || strings.HasPrefix(rest, "…") {
		return end + 3
	}
	if n := syntax.HalfDay(rest); n > 0 {
		return end + n
	}
	return end + syntax.UnitEnd(rest)
}

const vulgar = "½⅓¼¾⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"

// numberEnd extends a number over what belongs to it: 9π.
func numberEnd(text string, end int) int {
	for _, s := range []string{"π", "√"} {
		if strings.HasPrefix(text[end:], s) {
			end += len(s)
			for end < len(text) && digit(text[end]) {
				end++
			}
		}
	}
	return end
}

// numberStart is where the number begins whose last digit is at i.
func numberStart(text string, i int) int {
	for i > 0 {
		c := text[i-1]
		switch {
		case digit(c):
			i--
		case (c == ',' || c == '.' || c == '/' || c == ':' || c == '^') && i > 1 && digit(text[i-2]):
			i--
		case c == '}' && i > 3 && text[i-3:i] == "{,}" && digit(text[i-4]): // LaTeX's 1{,}250
			i -= 3
		case c == ' ' && i > 1 && digit(text[i-2]) && thousands(text, i):
			i--
		case c == '.':
			return i - 1
		case c == ' ' && i > 1 && digit(text[i-2]) && strings.IndexByte(text[i:min(i+6, len(text))], '/') > 0 && mixedAt(text, i):
			i--
		case strings.HasSuffix(text[:i], "√"):
			i -= len("√")
		case strings.HasSuffix(text[:i], "−") && (i == len("−") || text[i-len("−")-1] == ' '):
			return i - len("−")
		default:
			return i
		}
	}
	return i
}

// mixedAt tells that the fraction at i belongs to the number before the space.
func mixedAt(text string, i int) bool {
	j := i
	for j < len(text) && digit(text[j]) {
		j++
	}
	k := i - 1
	for k > 0 && digit(text[k-1]) {
		k--
	}
	return j > i && j+1 < len(text) && text[j] == '/' && digit(text[j+1]) && (k == 0 || text[k-1] == ' ')
}

// thousands tells that a space is before three digits and after one to three.
func thousands(text string, i int) bool {
	if i+3 > len(text) || !digit(text[i]) || !digit(text[i+1]) || !digit(text[i+2]) || i+3 < len(text) && digit(text[i+3]) {
		return false
	}
	j := i - 1
	for j > 0 && digit(text[j-1]) {
		j--
	}
	return i-1-j <= 3 && text[j] != '0'
}

// anchored tells that a number at i begins a word: after a space, a sign, a currency.
func anchored(text string, i int) bool {
	for i > 0 {
		c := text[i-1]
		switch {
		case c == '-' || c == '$' || c == '*' || c == '+' || c == '\\' || c == '(' || c == '~':
			i--
		case c >= utf8.RuneSelf:
			return true
		default:
			return c == ' ' || c == '\n' || c == '\t' || c == '=' || c == ':' || c == '"' || c == '/' || c == '>' || c == '['
		}
	}
	return true
}

// expressionStart extends a number to the left over a sum or product of numbers,
// and over its sign.
func expressionStart(text string, i int) int {
	start := i
	for j := i; j > 0; {
		c := text[j-1]
		switch {
		case digit(c):
			j = numberStart(text, j-1)
			if !anchored(text, j) {
				return start
			}
			start = j
		case c == '(' && start == j:
			j--
			start = j
		case c == '$' && start == j:
			return j - 1
		case start == j && currencyBefore(text[:j]) > 0:
			return j - currencyBefore(text[:j])
		case strings.IndexByte("+-*/^)", c) >= 0:
			j--
			if c == '-' && start == j+1 {
				start = j
			}
		case c == ' ' && j > 1 && (strings.IndexByte("+-*/", text[j-2]) >= 0 || strings.IndexByte("+-*/", text[min(j, len(text)-1)]) >= 0):
			j--
		default:
			return start
		}
	}
	return start
}

// currencyBefore is the length of a sign of a currency at the end of s.
func currencyBefore(s string) int {
	r, n := utf8.DecodeLastRuneInString(s)
	if strings.ContainsRune("€£¥₹", r) {
		return n
	}
	return 0
}

// firstNumber is the first number of a sentence, or the one after its last "=".
func firstNumber(s string) (string, bool) {
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		s = s[i+1:]
	}
	for i := 0; i < len(s); i++ {
		if !digit(s[i]) || i > 0 && letter(s[i-1]) {
			continue
		}
		end := i
		for end < len(s) && (digit(s[end]) || strings.IndexByte(",./:^", s[end]) >= 0 && end+1 < len(s) && digit(s[end+1])) {
			end++
		}
		if i > 0 && s[i-1] == '-' && (i == 1 || s[i-2] == ' ' || s[i-2] == '$') {
			i--
		}
		if percent(s[end:]) {
			return s[i:end] + "%", true
		}
		if i > 0 && s[i-1] == '$' {
			i--
		}
		return s[i:quantityEnd(s, end)], true
	}
	return "", false
}

// listed is the list at the end of a last sentence such as "The roots are 1, 4 and 9".
func listed(s string) (string, bool) {
	i := strings.LastIndexByte(s, 'r')
	for i >= 0 && (i < 2 || i+3 > len(s) || s[i-2:i+3] != " are ") {
		i = strings.LastIndexByte(s[:i], 'r')
	}
	if i < 0 {
		return "", false
	}
	i -= 2
	s = s[i+len(" are "):]
	return s, (strings.Contains(s, ",") || hasWord(s, "and") || hasWord(s, "or")) && strings.ContainsAny(s, "0123456789") && !syntax.Prose(s)
}

// lastSentence is the last line or sentence of a text.
func lastSentence(text string) string {
	text = strings.Trim(text, " \n.*")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	for i := len(text) - 2; i >= 0 && i > len(text)-300; i-- {
		if text[i] == '.' && text[i+1] == ' ' {
			text = text[i+2:]
			break
		}
	}
	if len(text) > 200 {
		return ""
	}
	return strings.Trim(text, " .*")
}
