package syntax

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// longest bounds the digits of one numeral.
const longest = 4000

func longDecimal(digits string) rat.Rat {
	if len(digits) > longest {
		return rat.Rat{}
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return rat.Rat{}
	}
	return rat.FromBig(new(big.Rat).SetInt(n))
}

// word reads a run of letters: a function, a constant, "and", or else one letter.
func (l *lexer) word() token {
	run := commandName(l.src[l.pos:])
	if t, ok := l.known(run); ok {
		return t
	}
	l.pos++
	return token{kind: tLetter, text: run[:1]}
}

func (l *lexer) known(run string) (token, bool) {
	if len(run) == 1 {
		return token{}, false
	}
	lower := strings.ToLower(run)
	switch lower {
	case "and", "or":
		l.pos += len(run)
		return token{kind: tSep, text: lower}, true
	case "infinity", "inf", "infty", "oo":
		l.pos += len(run)
		return token{kind: tCmd, text: "infty"}, true
	case "percent", "percentage", "pct":
		l.pos += len(run)
		return token{kind: tSym, text: "%"}, true
	case "degrees", "degree":
		l.pos += len(run)
		return token{kind: tCmd, text: "degree"}, true
	case "pi":
		l.pos += 2
		return token{kind: tCmd, text: "pi"}, true
	case "between":
		l.pos += len(run)
		return token{kind: tCmd, text: "between"}, true
	case "to":
		l.pos += len(run)
		return token{kind: tSym, text: ":"}, true
	case "union":
		l.pos += len(run)
		return token{kind: tCmd, text: "cup"}, true
	}
	for n := len(run); n >= 2 && n >= len(run)-1; n-- {
		if find(run[:n]).is(function) && run[:n] != "deg" && run[:n] != "tr" && run[:n] != "Re" && run[:n] != "Im" {
			l.pos += n
			return token{kind: tCmd, text: run[:n]}, true
		}
	}
	if unit(lower) || l.quantity() && symbolUnit(run) != nil || len(run) > 3 && spelled(run) || find(run).is(greek) {
		l.pos += len(run)
		return token{kind: tText, text: run}, true
	}
	return token{}, false
}

// quantity tells that a word follows a number and a space: 4 kJ.
func (l *lexer) quantity() bool {
	return l.pos > 1 && l.src[l.pos-1] == ' ' && isDigit(l.src[l.pos-2])
}

// spelled tells that a run of letters is a word rather than a product: it has a
// vowel and a letter occurs after another in both cases.
func spelled(run string) bool { return strings.ContainsAny(strings.ToLower(run), "aeiou") }

// command reads what begins with a backslash.
func (l *lexer) command() token {
	rest := l.src[l.pos+1:]
	if rest == "" {
		l.pos++
		return token{kind: tSym, text: `\`}
	}
	if rest[0] == '\\' {
		return l.doubled(rest)
	}
	name := commandName(rest)
	if name == "" {
		l.pos += 2
		return token{kind: tSym, text: l.src[l.pos-2 : l.pos]}
	}
	l.pos += 1 + len(name)
	known := find(name)
	if known.is(textual) {
		return l.text()
	}
	if known.is(relation) {
		return token{kind: tRel, op: known.op}
	}
	switch name {
	case "land", "lor", "vee", "wedge":
		return token{kind: tSep, text: "and"}
	case "not":
		if t := l.next(); t.kind == tRel {
			return token{kind: tRel, op: map[Op]Op{EQ: NE, In: NotIn}[t.op]}
		}
	case "mathbb":
		l.space()
		if rest := l.src[l.pos:]; len(rest) > 2 && rest[0] == '{' && rest[2] == '}' {
			l.pos += 3
			return token{kind: tCmd, text: "bb" + rest[1:2]}
		}
		if rest := l.src[l.pos:]; rest != "" {
			l.pos++
			return token{kind: tCmd, text: "bb" + rest[:1]}
		}
	case "mathbf", "boldsymbol", "bm", "mathit", "mathnormal", "boldmath", "underline", "displaylines", "color", "textcolor", "fbox", "boxed", "framebox", "pmb", "vphantom", "smash":
		return l.next()
	}
	return token{kind: tCmd, text: name}
}

// doubled reads two backslashes: the end of a row, or a command whose backslash
// was escaped.
func (l *lexer) doubled(rest string) token {
	if !l.matrix && len(rest) > 1 && isLetter(rest[1]) {
		l.pos++
		return l.next()
	}
	if !l.matrix && len(rest) > 1 && strings.IndexByte("{}%()[]", rest[1]) >= 0 {
		l.pos++
		return l.next()
	}
	l.pos += 2
	return token{kind: tRow}
}

// text reads the braces after \text and what they mean.
func (l *lexer) text() token {
	l.space()
	if l.pos < len(l.src) && l.src[l.pos] == '*' {
		l.pos++
	}
	if l.pos >= len(l.src) || l.src[l.pos] != '{' {
		return l.next()
	}
	end := Closing(l.src, l.pos)
	if end < 0 {
		end = len(l.src)
	}
	content := strings.TrimSpace(l.src[l.pos+1 : min(end, len(l.src))])
	l.pos = min(end+1, len(l.src))
	return l.contents(content)
}

func (l *lexer) contents(content string) token {
	bare := strings.Trim(strings.ToLower(content), " .,;:~")
	switch bare {
	case "":
		return l.next()
	case "and", "or":
		return token{kind: tSep, text: bare}
	case "percent", "percentage", "pct", `\%`, "%":
		return token{kind: tSym, text: "%"}
	case "degrees", "degree", "°", `^\circ`:
		return token{kind: tCmd, text: "degree"}
	case "pi":
		return token{kind: tCmd, text: "pi"}
	case "in":
		return token{kind: tText, text: bare}
	}
	if find(content).is(function) {
		return token{kind: tCmd, text: content}
	}
	if len(content) == 1 && isLetter(content[0]) {
		return token{kind: tLetter, text: content, roman: true}
	}
	if isDigit(content[0]) { // \text{20 students}
		inner := lexer{src: content}
		if t := inner.next(); t.kind == tNum && !strings.ContainsAny(content[inner.pos:], "0123456789/") {
			return t
		}
	}
	return token{kind: tText, text: content}
}

// Closing is the index of the brace that closes the one at open, or -1.
func Closing(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

var signs = map[rune]token{
	'×': {kind: tSym, text: "*"}, '·': {kind: tSym, text: "*"}, '∙': {kind: tSym, text: "*"}, '⋅': {kind: tSym, text: "*"},
	'÷': {kind: tSym, text: "/"}, '−': {kind: tSym, text: "-"}, '–': {kind: tSym, text: "-"}, '—': {kind: tSym, text: "-"}, '⁄': {kind: tSym, text: "/"}, '∕': {kind: tSym, text: "/"},
	'≤': {kind: tRel, op: LE}, '⩽': {kind: tRel, op: LE}, '≥': {kind: tRel, op: GE}, '⩾': {kind: tRel, op: GE}, '≠': {kind: tRel, op: NE},
	'≈': {kind: tRel, op: Approx}, '∈': {kind: tRel, op: In}, '∉': {kind: tRel, op: NotIn}, '＝': {kind: tRel, op: EQ}, '≡': {kind: tRel, op: EQ},
	'π': {kind: tCmd, text: "pi"}, '∞': {kind: tCmd, text: "infty"}, '√': {kind: tCmd, text: "sqrt"}, '∛': {kind: tCmd, text: "cbrt"},
	'±': {kind: tCmd, text: "pm"}, '∓': {kind: tCmd, text: "mp"}, '∪': {kind: tCmd, text: "cup"}, '∩': {kind: tCmd, text: "cap"},
	'∖': {kind: tCmd, text: "setminus"}, '∅': {kind: tCmd, text: "emptyset"}, '°': {kind: tCmd, text: "degree"}, '′': {kind: tSym, text: "'"},
	'，': {kind: tSep, text: ","}, '、': {kind: tSep, text: ","}, '；': {kind: tSep, text: ";"}, '（': {kind: tSym, text: "("}, '）': {kind: tSym, text: ")"},
	'：': {kind: tSym, text: ":"}, '⟨': {kind: tCmd, text: "langle"}, '⟩': {kind: tCmd, text: "rangle"}, '⌊': {kind: tCmd, text: "lfloor"}, '⌋': {kind: tCmd, text: "rfloor"},
	'⌈': {kind: tCmd, text: "lceil"}, '⌉': {kind: tCmd, text: "rceil"}, 'ℝ': {kind: tCmd, text: "bbR"}, 'ℤ': {kind: tCmd, text: "bbZ"}, 'ℕ': {kind: tCmd, text: "bbN"},
	'½': half(1, 2), '⅓': half(1, 3), '¼': half(1, 4), '¾': half(3, 4), '⅔': half(2, 3), '⅕': half(1, 5), '⅛': half(1, 8), '⅙': half(1, 6),
	'∧': {kind: tSep, text: "and"}, '∨': {kind: tSep, text: "or"},
}

func half(n, d int64) token { return token{kind: tCmd, text: "fraction", num: rat.Frac(n, d)} }

var greekRunes = map[rune]string{
	'α': "alpha", 'β': "beta", 'γ': "gamma", 'δ': "delta", 'ε': "epsilon", 'ϵ': "varepsilon", 'ζ': "zeta", 'η': "eta", 'θ': "theta", 'ϑ': "vartheta",
	'ι': "iota", 'κ': "kappa", 'λ': "lambda", 'μ': "mu", 'ν': "nu", 'ξ': "xi", 'ρ': "rho", 'σ': "sigma", 'τ': "tau", 'υ': "upsilon", 'φ': "phi",
	'ϕ': "varphi", 'χ': "chi", 'ψ': "psi", 'ω': "omega", 'Δ': "Delta", 'Θ': "Theta", 'Λ': "Lambda", 'Σ': "Sigma", 'Φ': "Phi", 'Ψ': "Psi", 'Ω': "Omega",
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

func (l *lexer) unicode() token {
	r, n := utf8.DecodeRuneInString(l.src[l.pos:])
	l.pos += n
	if t, ok := signs[r]; ok {
		return t
	}
	if name, ok := greekRunes[r]; ok {
		return token{kind: tCmd, text: name}
	}
	if strings.ContainsRune(superscripts, r) || r == '⁻' {
		return l.superscript(r)
	}
	return token{kind: tSym, text: string(r)}
}

// superscript reads x² and x⁻¹² as one exponent.
func (l *lexer) superscript(r rune) token {
	digits, sign := "", int64(1)
	for {
		if r == '⁻' {
			sign = -1
		} else {
			digits += string(digitOf(r))
		}
		next, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if !strings.ContainsRune(superscripts, next) || len(digits) > 8 || n == 0 {
			break
		}
		r = next
		l.pos += n
	}
	return token{kind: tCmd, text: "superscript", num: decimal(digits).Mul(rat.Int(sign))}
}

func digitOf(r rune) rune {
	i := 0
	for _, s := range superscripts {
		if s == r {
			return rune('0' + i)
		}
		i++
	}
	return r
}
