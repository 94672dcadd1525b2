package syntax

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// atom reads what needs no operator: a number, a letter, a group, a command.
func (p *parser) atom() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	t := p.tok
	switch t.kind {
	case tNum:
		return p.numeral()
	case tLetter:
		p.advance()
		return p.letter(t.text)
	case tText:
		p.advance()
		return p.subscript(&Node{Kind: Symbol, Name: Letters(t.text)})
	case tCmd:
		return p.command(t.text)
	case tSym:
		return p.bracket(t.text)
	}
	p.fail("a value is missing")
	return Int(0)
}

// Letters is a text without what does not matter in a word.
func Letters(s string) string {
	return strings.ToLower(strings.Trim(strings.Join(strings.Fields(s), " "), " .,;:()~"))
}

func (p *parser) numeral() *Node {
	n := &Node{Kind: Number, Num: p.tok.num, Decimal: p.tok.dec, Name: p.tok.text, Unit: currency(p.tok.money)}
	p.advance()
	if n.Unit == nil && p.tok.kind != tNum {
		n.Unit = currency(p.tok.money)
	}
	if n.Unit != nil {
		p.noted(n.Unit)
	}
	if p.tok.kind == tText && find(strings.ToLower(p.tok.text)).factor > 0 {
		n.Num = n.Num.Mul(rat.Int(find(strings.ToLower(p.tok.text)).factor))
		p.advance()
	}
	if !n.Num.OK() {
		p.fail("a number is too long")
	}
	if p.is("_") {
		p.advance()
		n.Base = p.base()
	}
	return n
}

var baseNames = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "sixteen": 16}

// base reads the index of a numeral.
func (p *parser) base() int {
	t := p.tok
	if t.kind == tSym && t.text == "{" {
		p.advance()
		t = p.tok
	}
	braced := t.start != p.tok.start || p.src[max(t.start-1, 0)] == '{'
	base := 0
	switch t.kind {
	case tNum:
		b, _ := t.num.Int64()
		base = int(min(max(b, 0), 64))
	case tText:
		base = baseNames[Letters(t.text)]
	}
	for braced && !p.is("}") && p.tok.kind != tEnd {
		p.advance()
	}
	p.advance()
	return base
}

// letter reads a variable, a constant, or a function applied: x_1, e, f(x).
func (p *parser) letter(s string) *Node {
	switch s {
	case "i", "j", "k":
		if p.bold(s) {
			return &Node{Kind: Symbol, Name: "unit:" + s}
		}
	}
	switch s {
	case "e", "i":
		if !p.is("_") {
			return &Node{Kind: Constant, Name: s}
		}
	}
	n := p.subscript(&Node{Kind: Symbol, Name: strings.ToLower(s)})
	for p.is("'") {
		p.advance()
		n.Name += "'"
	}
	if p.is("(") && (strings.Contains("fghFGH", s) || p.defined()) {
		return p.applied(n.Name)
	}
	return n
}

// bold tells that the letter before the token is a unit vector: it and another one are in
// \mathbf.
func (p *parser) bold(s string) bool {
	for _, style := range []string{`\mathbf{`, `\boldsymbol{`, `\textbf{`} {
		if strings.Contains(p.src, style+s+"}") && (strings.Contains(p.src, style+"j}") || s == "j" && strings.Contains(p.src, style+"i}") || strings.Contains(p.src, style+"k}")) {
			return true
		}
	}
	return false
}

// defined tells that a letter before parentheses is a function that an equation
// defines: P(x) = …, \Phi(x, y) = ….
func (p *parser) defined() bool {
	end := strings.IndexByte(p.src[p.tok.start:], ')')
	if end < 0 || end > 20 {
		return false
	}
	inside, after := p.src[p.tok.start+1:p.tok.start+end], strings.TrimLeft(p.src[p.tok.start+end+1:], " ")
	return strings.HasPrefix(after, "=") && strings.Trim(inside, "abcdefghijklmnopqrstuvwxyzXYZ, ") == "" && inside != ""
}

// applied reads the arguments of an unknown function.
func (p *parser) applied(name string) *Node {
	p.advance()
	groups, _ := p.groups()
	if p.is(")") {
		p.advance()
	}
	return call("fn:"+name, flatten(groups)...)
}

// subscript adds an index to the name of a variable.
func (p *parser) subscript(n *Node) *Node {
	if !p.is("_") {
		return n
	}
	n.Name += "_" + p.index()
	p.advance()
	return n
}

// index is the text of the index that begins after the token "_"; it leaves the
// last of it as the token.
func (p *parser) index() string {
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == '{' {
		end := Closing(p.src, p.pos)
		if end < 0 {
			p.fail("a brace is not closed")
			return ""
		}
		text := p.src[p.pos+1 : end]
		p.pos = end + 1
		return squeeze(text)
	}
	p.advance()
	return squeeze(p.src[min(p.tok.start, len(p.src)):p.tok.end])
}

func squeeze(s string) string {
	s = strings.NewReplacer(" ", "", "{", "", "}", "", `\text`, "", `\mathrm`, "", `\,`, "").Replace(s)
	return strings.ToLower(s)
}

// group reads the argument of a command: {…}, or one digit, letter or command.
func (p *parser) group() *Node {
	if p.tok.kind == tNum && p.tok.start < len(p.src) && isDigit(p.src[p.tok.start]) { // \frac12
		d := p.src[p.tok.start]
		p.pos = p.tok.start + 1
		p.advance()
		return Int(int64(d - '0'))
	}
	if p.is("-") {
		p.advance()
		return Neg(p.group())
	}
	return p.atom()
}

// command reads what a command begins.
func (p *parser) command(name string) *Node {
	if constant, ok := constants[name]; ok {
		p.advance()
		return constant
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac", "sfrac", "nicefrac":
		return p.fraction()
	case "fraction":
		n := number(p.tok.num)
		p.advance()
		return n
	case "sqrt", "cbrt":
		return p.root(name)
	case "binom", "dbinom", "tbinom":
		p.advance()
		a := p.group()
		return call("binomial", a, p.group())
	case "lvert", "vert":
		return p.bar()
	case "lVert", "Vert":
		return p.norm()
	case "lfloor", "lceil", "langle", "lbrace", "lbrack", "lparen":
		return p.named(name)
	case "between":
		return p.between()
	case "begin":
		return p.environment()
	case "log", "ln", "lg":
		return p.logarithm(name)
	case "sum", "prod", "int", "lim", "iint", "oint", "bigoplus":
		return p.big(name)
	}
	if find(name).is(function) {
		return p.function(name)
	}
	return p.other(name)
}

var constants = map[string]*Node{
	"pi": {Kind: Constant, Name: "pi"}, "infty": {Kind: Constant, Name: "inf"}, "emptyset": {Kind: SetName, Name: "empty"}, "varnothing": {Kind: SetName, Name: "empty"},
	"O": {Kind: SetName, Name: "empty"}, "imath": {Kind: Constant, Name: "i"}, "bbR": {Kind: SetName, Name: "R"}, "bbZ": {Kind: SetName, Name: "Z"},
	"bbN": {Kind: SetName, Name: "N"}, "bbQ": {Kind: SetName, Name: "Q"}, "bbC": {Kind: SetName, Name: "C"}, "exponentialE": {Kind: Constant, Name: "e"},
	"imaginaryI": {Kind: Constant, Name: "i"},
}

// other reads accents, variables and what is not known.
func (p *parser) other(name string) *Node {
	switch name {
	case "overline", "bar", "vec", "hat", "tilde", "widehat", "overrightarrow", "widetilde", "dot", "overleftrightarrow", "mathcal", "mathfrak", "mathscr", "wideparen", "overarc", "acute", "ddot":
		text := p.index()
		p.advance()
		if axis := strings.TrimSuffix(strings.TrimPrefix(text, `\`), "math"); (name == "hat" || name == "vec") && len(axis) == 1 && axis[0] >= 'i' && axis[0] <= 'k' {
			return &Node{Kind: Symbol, Name: "unit:" + axis}
		}
		return p.subscript(&Node{Kind: Symbol, Name: name + ":" + text})
	case "angle", "triangle", "measuredangle", "Delta", "nabla", "partial", "square", "star", "cdot", "prime":
		p.advance()
		return p.subscript(&Node{Kind: Symbol, Name: strings.ToLower(name)})
	case "phantom", "hspace", "vspace", "label", "tag", "hphantom", "kern", "mspace":
		p.index()
		p.advance()
		if p.closes() || p.tok.kind == tSep {
			p.fail("a value is missing")
			return Int(0)
		}
		return p.power()
	}
	if find(name).is(greek) {
		p.advance()
		if name == "Gamma" && p.is("(") {
			return call("gamma", p.atom())
		}
		n := p.subscript(&Node{Kind: Symbol, Name: strings.ToLower(name)})
		if p.is("(") && p.defined() {
			return p.applied(n.Name)
		}
		return n
	}
	p.fail("does not know \\" + name)
	return Int(0)
}
