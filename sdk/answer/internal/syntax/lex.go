package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

type tokenKind uint8

const (
	tEnd tokenKind = iota
	tNum
	tLetter // one letter, with its accents: text
	tCmd    // a command or a word that acts like one: its name in text
	tSym    // a sign: text
	tText   // the contents of \text{}
	tSep    // a comma, "and", "or"
	tRel
	tRow // \\
)

type token struct {
	kind       tokenKind
	text       string
	op         Op
	num        rat.Rat
	dec        bool
	start, end int
	spaced     bool // whitespace before it
	roman      bool // a letter in \text or \mathrm
	money      rune // a sign of a currency before it
}

type lexer struct {
	src    string
	pos    int
	matrix bool // \\ before a letter ends a row
	commas bool // a comma between digits always separates
	joined bool // a comma between digits is a decimal or thousands comma
	sawSep bool // a comma between digits was read as one number
	money  rune // a sign of a currency was skipped
}

// next reads the token at l.pos.
func (l *lexer) next() token {
	l.money = 0
	spaced := l.space()
	start := l.pos
	t := l.scan()
	t.start, t.end, t.spaced, t.money = start, l.pos, spaced, l.money
	return t
}

// space skips spaces and what does not matter, and tells whether there was some.
func (l *lexer) space() bool {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '$':
			if dollars(l.src, l.pos) {
				l.money = '$'
			}
			l.pos++
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '~' || c == '"' || c == '`':
			l.pos++
		case c == '\\' && l.skipCommand():
		case c == '*' && strings.HasPrefix(l.src[l.pos:], "**") && (l.pos == 0 || strings.TrimSpace(l.src[l.pos+2:]) == ""):
			l.pos += 2
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			if unicode.Is(unicode.Sc, r) {
				l.money = r
			} else if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
				return l.pos > start
			}
			l.pos += n
		default:
			return l.pos > start
		}
	}
	return l.pos > start
}

// skipCommand skips a command that does not matter.
func (l *lexer) skipCommand() bool {
	rest := l.src[l.pos+1:]
	if rest == "" {
		return false
	}
	switch rest[0] {
	case '$':
		l.money = '$'
		l.pos += 2
		return true
	case ',', ';', ':', '!', ' ', '/', '\n', '>':
		l.pos += 2
		return true
	}
	name := commandName(rest)
	if strings.HasPrefix(name, "quad") {
		name = "quad"
	}
	if !find(name).is(skip) {
		return false
	}
	l.pos += 1 + len(name)
	if (name == "left" || name == "right") && strings.HasPrefix(l.src[l.pos:], ".") {
		l.pos++
	}
	return true
}

// dollars tells that a dollar sign is money rather than the beginning of mathematics:
// it is the only one, and a number follows it.
func dollars(s string, i int) bool {
	return i+1 < len(s) && isDigit(s[i+1]) && strings.Count(s, "$") == 1
}

func commandName(s string) string {
	i := 0
	for i < len(s) && isLetter(s[i]) {
		i++
	}
	return s[:i]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) scan() token {
	if l.pos >= len(l.src) {
		return token{}
	}
	c := l.src[l.pos]
	switch {
	case isDigit(c) || c == '.' && l.pos+1 < len(l.src) && isDigit(l.src[l.pos+1]):
		return l.number()
	case isLetter(c):
		return l.word()
	case c == '\\':
		return l.command()
	case c == ',' || c == ';':
		l.pos++
		return token{kind: tSep, text: string(c)}
	case c >= utf8.RuneSelf:
		return l.unicode()
	}
	return l.sign(c)
}

var relations = []struct {
	text string
	op   Op
}{{"<=", LE}, {">=", GE}, {"!=", NE}, {"==", EQ}, {"=<", LE}, {"=>", GE}, {"=", EQ}, {"<", LT}, {">", GT}}

func (l *lexer) sign(c byte) token {
	for _, r := range relations {
		if strings.HasPrefix(l.src[l.pos:], r.text) {
			l.pos += len(r.text)
			return token{kind: tRel, op: r.op}
		}
	}
	if c == '*' && strings.HasPrefix(l.src[l.pos:], "**") {
		l.pos += 2
		return token{kind: tSym, text: "^"}
	}
	l.pos++
	return token{kind: tSym, text: l.src[l.pos-1 : l.pos]}
}

// number reads digits with separators: 1,234.5, 10{,}000, 1 000, .5, 2.5e3.
func (l *lexer) number() token {
	start := l.pos
	t := token{kind: tNum}
	if whole, places, n := grouped(l.src[l.pos:], l.commas); n > 0 {
		l.pos += n
		l.sawSep = true
		t.num, t.dec, t.text = decimal(whole).Mul(rat.Ten(places).Inv()), places > 0, l.src[start:l.pos]
		return t
	}
	digits := l.digits()
	for l.pos < len(l.src) {
		skip := 0
		if digits != "" && digits[0] != '0' {
			skip = l.separator(len(digits))
		}
		if skip == 0 {
			break
		}
		l.sawSep = true
		digits += l.src[l.pos+skip : l.pos+skip+3]
		l.pos += skip + 3
	}
	t.num = decimal(digits)
	if l.decimalPoint() {
		t.dec = true
		l.pos++
		frac := l.digits()
		t.num = decimal(digits + frac).Mul(rat.Ten(len(frac)).Inv())
		t.num = l.repeating(t.num, len(frac))
		if n := ellipsis(l.src[l.pos:]); n > 0 {
			if period := repeated(frac); period > 0 {
				head := len(frac) - period
				tail := decimal(frac[head:]).Div(rat.Ten(period).Sub(rat.Int(1))).Mul(rat.Ten(head).Inv())
				t.num = decimal(digits + frac[:head]).Mul(rat.Ten(head).Inv()).Add(tail)
			}
			l.pos += n
		}
	}
	l.scientific(&t)
	t.text = l.src[start:l.pos]
	return t
}

func (l *lexer) digits() string {
	start := l.pos
	for l.pos < len(l.src) && isDigit(l.src[l.pos]) {
		l.pos++
	}
	return l.src[start:l.pos]
}

// decimalPoint tells whether a decimal part follows: a point, or a comma where
// commas join digits.
func (l *lexer) decimalPoint() bool {
	rest := l.src[l.pos:]
	if rest == "" {
		return false
	}
	if rest[0] == '.' && len(rest) > 1 {
		return isDigit(rest[1]) || strings.HasPrefix(rest[1:], `\overline`) || strings.HasPrefix(rest[1:], `\dot{`) || strings.HasPrefix(rest[1:], `\bar`)
	}
	comma := rest[0] == ',' && len(rest) > 1 && isDigit(rest[1])
	if comma && (l.joined || l.pos > 0 && l.src[l.pos-1] == '0' && (l.pos == 1 || !isDigit(l.src[l.pos-2]) && l.src[l.pos-2] != '.') && !l.commas && len(commaRun(rest)) == len(rest)) {
		l.sawSep = true
		return true
	}
	return false
}

// grouped reads the groups of other countries at the beginning of s: 1.234.567,8 and
// 12,34,567 and 1_234_567. It returns the digits, how many of them are decimals, and the
// length, which is 0 for other numbers.
func grouped(s string, commas bool) (digits string, places, n int) {
	head := leadingDigits(s)
	if len(head) == 0 || len(head) > 3 || len(head) == len(s) || strings.IndexByte(".,_", s[len(head)]) < 0 {
		return "", 0, 0
	}
	sep := s[len(head)]
	digits, n = head, len(head)
	groups, short := 0, 0
	for n < len(s) && s[n] == sep {
		run := leadingDigits(s[n+1:])
		if len(run) != 3 && (len(run) != 2 || sep != ',') || groups > 6 {
			break
		}
		if len(run) == 2 {
			short++
		}
		if len(run) == 2 && short < groups+1 {
			return "", 0, 0
		}
		digits += run
		n += 1 + len(run)
		groups++
	}
	switch {
	case n < len(s) && isDigit(s[n]) || groups == 0:
		return "", 0, 0
	case sep == ',':
		ok := !commas && short > 0 && groups == short+1 && len(head) < 3
		if !ok {
			n = 0
		}
		return digits, 0, n
	case sep == '.' && n+1 < len(s) && s[n] == ',' && isDigit(s[n+1]):
		run := leadingDigits(s[n+1:])
		if commas || n+1+len(run) < len(s) && s[n+1+len(run)] == ',' || groups == 1 && len(run) != 2 {
			return "", 0, 0
		}
		return digits + run, len(run), n + 1 + len(run)
	case groups < 2 || n < len(s) && s[n] == sep && n+1 < len(s) && isDigit(s[n+1]):
		return "", 0, 0
	}
	return digits, 0, n
}

func leadingDigits(s string) string {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[:i]
}

// commaRun is the comma and the digits after it.
func commaRun(s string) string {
	i := 1
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[:i]
}

var separators = []string{`{,}`, `\,`, `{,\!}`, `,\!`, `\!,`, `,`, `\ `, ` `, "\u202f", "\u00a0", "'", "{ , }", " {,} ", ` {, }`, `{, }`}

// separator is the length of a thousands separator here, 0 if there is none.
func (l *lexer) separator(before int) int {
	if before == 0 || before > 3 && !l.sawSep {
		return 0
	}
	rest := l.src[l.pos:]
	for _, s := range separators {
		if !strings.HasPrefix(rest, s) || (s == "," && l.commas) {
			continue
		}
		n := len(s)
		if s == `,\!` {
			for n < len(rest) && rest[n] == ' ' {
				n++
			}
		}
		if len(rest) >= n+3 && isDigit(rest[n]) && isDigit(rest[n+1]) && isDigit(rest[n+2]) && (len(rest) == n+3 || !isDigit(rest[n+3])) {
			if (s == " " || s == `\ `) && !groupsOfThree(rest, n) {
				continue
			}
			return n
		}
	}
	return 0
}

// groupsOfThree tells that the digits after a space are not a fraction: 1 000, not 1 100/3.
func groupsOfThree(rest string, n int) bool {
	after := strings.TrimLeft(rest[n+3:], " ")
	return after == "" || after[0] != '/'
}

func decimal(digits string) rat.Rat {
	if len(digits) <= 18 {
		n := int64(0)
		for i := range len(digits) {
			n = n*10 + int64(digits[i]-'0')
		}
		return rat.Int(n)
	}
	return longDecimal(digits)
}

// ellipsis is the length of the dots after a decimal that goes on: 0.333...
func ellipsis(s string) int {
	for _, d := range []string{"...", "…", `\ldots`, `\dots`, `\cdots`} {
		if strings.HasPrefix(s, d) {
			return len(d)
		}
	}
	return 0
}

// repeated is the length of the shortest period that ends decimals at least twice, and
// three times if it is one digit; 0 if there is none.
func repeated(frac string) int {
	for p := 1; 2*p <= len(frac) && p <= 12; p++ {
		times := max(2, 4-p)
		if len(frac) < times*p {
			continue
		}
		block := frac[len(frac)-p:]
		if strings.HasSuffix(frac, strings.Repeat(block, times)) {
			return p
		}
	}
	return 0
}

// repeating reads the period of 0.1\overline{6}, 0.(6) or 0.333\ldots after the
// digits before it.
func (l *lexer) repeating(n rat.Rat, places int) rat.Rat {
	period, skip := l.period()
	if period == "" {
		return n
	}
	l.pos += skip
	tail := decimal(period).Div(rat.Ten(len(period)).Sub(rat.Int(1))).Mul(rat.Ten(places).Inv())
	return n.Add(tail)
}

func (l *lexer) period() (digits string, skip int) {
	rest := l.src[l.pos:]
	for _, p := range []string{`\overline{`, `\bar{`, `\dot{`, `\overline `, `\bar `} {
		if !strings.HasPrefix(rest, p) {
			continue
		}
		in := rest[len(p):]
		d := leadingDigits(in)
		if p == `\dot{` {
			return dots(rest)
		}
		brace := strings.Count(p, "{")
		if d != "" && len(d) < 100 && strings.HasPrefix(in[len(d):], "}"[:brace]) {
			return d, len(p) + len(d) + brace
		}
	}
	if strings.HasPrefix(rest, "(") {
		d := commaRun(rest)[1:]
		if d != "" && len(d) < 20 && strings.HasPrefix(rest[1+len(d):], ")") {
			return d, len(d) + 2
		}
	}
	return "", 0
}

// dots reads \dot{1}42\dot{8}.
func dots(s string) (digits string, skip int) {
	first, rest, ok := strings.Cut(s[len(`\dot{`):], "}")
	if !ok || len(first) != 1 || !isDigit(first[0]) {
		return "", 0
	}
	middle := leadingDigits(rest)
	if after, ok := strings.CutPrefix(rest[len(middle):], `\dot{`); ok && len(after) > 1 && isDigit(after[0]) && after[1] == '}' {
		digits = first + middle + after[:1]
		return digits, len(s) - len(after) + 2
	}
	return first, len(s) - len(rest)
}

// scientific reads the exponent of 2.5e3.
func (l *lexer) scientific(t *token) {
	rest := l.src[l.pos:]
	if len(rest) < 2 || rest[0]|0x20 != 'e' {
		return
	}
	i := 1
	if rest[i] == '-' || rest[i] == '+' {
		i++
	}
	run := leadingDigits(rest[i:])
	if run == "" || len(run) > 3 || i == 1 && rest[0] == 'e' && !t.dec && len(rest) > i+len(run) && isLetter(rest[i+len(run)]) {
		return
	}
	k, _ := decimal(run).Int64()
	if rest[1] == '-' {
		k = -k
	}
	t.num, t.dec = t.num.Mul(rat.Int(10).Pow(k)), true
	l.pos += i + len(run)
}
