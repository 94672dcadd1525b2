package syntax

import (
	"errors"
	"strings"
)

// Bounds of one parse, so that no text is slow or deep.
const (
	MostBytes = 4096
	mostDepth = 60
	mostNodes = 3000
)

// ErrLong is the error of a text of more than MostBytes or of a tree past its bounds.
var ErrLong = errors.New("the expression is too long")

// Options say how to read what is ambiguous.
type Options struct {
	Commas   bool // a comma between digits separates elements: [-36,104]
	Joined   bool // a comma between digits is a decimal comma: 1,22
	Fraction bool // 1/2x is (1/2)x instead of 1/(2x)
	Units    bool // a letter such as m after a number is a unit
}

// Traits tell which options would have changed the reading.
type Traits struct{ Joined, Commas, Fraction, Units bool }

type parser struct {
	lexer
	opt    Options
	traits Traits
	tok    token
	err    error
	depth  int
	nodes  int
	bars   int // open |
	such   int // open sets, where : and | separate a condition
}

// Parse reads s. The traits tell whether other options would read it otherwise.
func Parse(s string, opt Options) (*Node, Traits, error) {
	if len(s) > MostBytes {
		return nil, Traits{}, ErrLong
	}
	p := &parser{opt: opt}
	p.src, p.commas, p.joined = trim(s), opt.Commas, opt.Joined
	p.matrix = strings.Contains(s, "matrix") || strings.Contains(s, "{array}")
	p.advance()
	n := p.list()
	if p.tok.kind != tEnd {
		p.fail("does not understand " + quote(p.src[min(p.tok.start, len(p.src)):]))
	}
	p.traits.Commas = p.sawSep && strings.ContainsAny(p.src, "([{")
	p.traits.Joined = n.Kind == List && len(n.Args) == 2 && strings.Trim(p.src, "-0123456789") == ","
	if p.err != nil {
		return nil, p.traits, p.err
	}
	n.Text = p.src
	return n, p.traits, nil
}

func quote(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return "'" + strings.ToValidUTF8(s, "?") + "'"
}

// trim drops punctuation around an expression.
func trim(s string) string {
	s = strings.TrimSpace(s)
	for s != "" {
		t := strings.TrimRight(s, " .,;:\n\t")
		t = strings.TrimSuffix(t, `\`)
		if t == s {
			break
		}
		s = t
	}
	return s
}

func (p *parser) fail(why string) {
	if p.err == nil {
		p.err = errors.New(why)
	}
	p.pos, p.tok = len(p.src), token{start: len(p.src)}
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) is(text string) bool { return p.tok.kind == tSym && p.tok.text == text }

func (p *parser) cmd(text string) bool { return p.tok.kind == tCmd && p.tok.text == text }

// enter counts depth and nodes; it is false past the bounds.
func (p *parser) enter() bool {
	p.depth++
	p.nodes++
	if p.depth > mostDepth || p.nodes > mostNodes {
		if p.err == nil {
			p.err = ErrLong
		}
		p.fail("")
		return false
	}
	return p.err == nil
}

func (p *parser) leave() { p.depth-- }

// list reads elements that commas, semicolons or words separate.
func (p *parser) list() *Node {
	groups, semis := p.groups()
	if semis && len(groups) > 1 {
		return nest(groups)
	}
	if len(groups) == 1 && len(groups[0]) == 1 {
		return groups[0][0]
	}
	return &Node{Kind: List, Args: flatten(groups)}
}

func flatten(groups [][]*Node) []*Node {
	var all []*Node
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// nest is the list of groups: x=1,y=2; x=3,y=4.
func nest(groups [][]*Node) *Node {
	n := &Node{Kind: List}
	for _, g := range groups {
		if len(g) == 1 {
			n.Args = append(n.Args, g[0])
		} else if len(g) > 1 {
			n.Args = append(n.Args, &Node{Kind: Tuple, Args: g})
		}
	}
	return n
}

// groups reads elements separated by commas, in groups separated by semicolons.
func (p *parser) groups() (groups [][]*Node, semis bool) {
	var group []*Node
	for p.err == nil {
		for p.tok.kind == tSep || p.tok.kind == tRow && !p.matrix {
			if p.tok.text == ";" && len(group) > 0 {
				semis = true
				groups, group = append(groups, group), nil
			}
			p.advance()
		}
		if p.closes() {
			break
		}
		group = append(group, p.element())
		if p.tok.kind != tSep && (p.tok.kind != tRow || p.matrix) {
			break
		}
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	if len(groups) == 0 && p.err == nil {
		p.fail("nothing to read")
	}
	return groups, semis
}

// closes tells whether the token ends a list.
func (p *parser) closes() bool {
	switch p.tok.kind {
	case tEnd, tRow:
		return true
	case tSym:
		return p.tok.text == ")" || p.tok.text == "]" || p.tok.text == "}" || p.tok.text == `\}` || p.tok.text == "&"
	case tCmd:
		switch p.tok.text {
		case "rangle", "rbrace", "rbrack", "end":
			return true
		}
	}
	return false
}

// element reads a relation or what stands without one.
func (p *parser) element() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	start := p.tok.start
	n := p.leading()
	if p.tok.kind == tRel {
		n = p.relation(n)
	}
	for p.cmd("Rightarrow") || p.cmd("implies") || p.cmd("Longrightarrow") || p.cmd("iff") || p.cmd("Leftrightarrow") {
		p.advance()
		n = p.element()
	}
	p.dropText()
	end := min(p.tok.start, len(p.src))
	if n.Text == "" && start < end {
		n.Text = p.src[start:end]
	}
	return n
}

// leading drops text before a value: \text{Answer: } 5.
func (p *parser) leading() *Node {
	if p.tok.kind != tText {
		return p.sets()
	}
	word := p.tok.text
	state := *p
	p.advance()
	if p.tok.kind == tEnd || p.tok.kind == tSep || p.tok.kind == tRel || p.tok.kind == tText || p.closes() || p.tok.kind == tSym && p.tok.text != "(" && p.tok.text != "-" {
		*p = state
		return p.sets()
	}
	_ = word
	return p.sets()
}

// dropText skips units and remarks after a value.
func (p *parser) dropText() {
	for p.tok.kind == tText || p.cmd("pmod") {
		p.unit()
	}
}

// unit skips one unit with its exponent.
func (p *parser) unit() {
	if p.cmd("pmod") {
		p.advance()
		p.group()
		return
	}
	p.advance()
	for p.err == nil {
		switch {
		case p.is("^"):
			p.advance()
			p.script()
		case p.cmd("superscript"):
			p.advance()
		case (p.is("/") || p.is("*") || p.cmd("cdot")) && p.unitAhead():
			p.advance()
			p.advance()
		case p.is("(") && p.textAhead():
			p.advance()
			p.advance()
			p.advance()
		default:
			return
		}
	}
}

func (p *parser) unitAhead() bool {
	l := p.lexer
	t := l.next()
	return t.kind == tText || t.kind == tLetter && strings.Contains("mgshL", t.text)
}

func (p *parser) textAhead() bool {
	l := p.lexer
	if l.next().kind != tText {
		return false
	}
	t := l.next()
	return t.kind == tSym && t.text == ")"
}

func (p *parser) relation(first *Node) *Node {
	n := &Node{Kind: Relation, Args: []*Node{first}}
	for p.tok.kind == tRel && p.err == nil {
		op := p.tok.op
		p.advance()
		n.Ops = append(n.Ops, op)
		if p.tok.kind == tEnd || p.tok.kind == tSep {
			p.fail("nothing after a relation")
			break
		}
		n.Args = append(n.Args, p.leading())
	}
	return n
}

// sets reads unions and differences of sets, or an expression.
func (p *parser) sets() *Node {
	n := p.intersections()
	for p.err == nil {
		switch {
		case p.cmd("cup") || p.cmd("bigcup"):
			p.advance()
			n = &Node{Kind: Union, Args: append(operands(n, Union), p.intersections())}
		case p.cmd("setminus") || p.cmd("backslash") || p.is(`\`):
			p.advance()
			n = &Node{Kind: Without, Args: []*Node{n, p.intersections()}}
		default:
			return n
		}
	}
	return n
}

func operands(n *Node, kind Kind) []*Node {
	if n.Kind == kind {
		return n.Args
	}
	return []*Node{n}
}

func (p *parser) intersections() *Node {
	n := p.additive()
	for p.err == nil && (p.cmd("cap") || p.cmd("bigcap")) {
		p.advance()
		n = &Node{Kind: Intersection, Args: []*Node{n, p.additive()}}
	}
	return n
}

func (p *parser) additive() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	var n *Node
	if p.cmd("pm") || p.cmd("mp") {
		n = Int(0)
	} else {
		n = p.term()
	}
	for p.err == nil {
		switch {
		case p.is("+"):
			p.advance()
			if p.is("/") { // +/-
				n = p.plusMinusSlash(n)
				continue
			}
			n = Plus(n, p.term())
		case p.is("-"):
			p.advance()
			n = Minus(n, p.term())
		case p.cmd("pm") || p.cmd("mp"):
			name := p.tok.text
			p.advance()
			n = call(name, n, p.term())
		default:
			return n
		}
	}
	return n
}

func (p *parser) plusMinusSlash(n *Node) *Node {
	p.advance()
	if !p.is("-") {
		p.fail("does not understand +/")
		return n
	}
	p.advance()
	return call("pm", n, p.term())
}

func (p *parser) term() *Node {
	start := p.tok
	n := p.juxtaposed()
	for p.err == nil {
		switch {
		case p.is("*") || p.cmd("cdot") || p.cmd("times") || p.cmd("ast"):
			p.advance()
			n = Times(n, p.juxtaposed())
		case p.is("/") || p.cmd("div"):
			p.advance()
			n = p.divide(n, start)
		case p.is(":") && p.such == 0:
			n = p.ratio(n)
		case p.cmd("mod") || p.cmd("bmod"):
			p.advance()
			n = call("mod", n, p.juxtaposed())
		default:
			return n
		}
	}
	return n
}

// divide reads the divisor. In 1/2x it is 2x; with the option Fraction it is 2.
func (p *parser) divide(n *Node, _ token) *Node {
	if p.tok.kind == tNum && n.Kind == Number {
		d := number(p.tok.num)
		l := p.lexer
		if t := l.next(); t.kind == tLetter || t.kind == tCmd && (t.text == "pi" || t.text == "sqrt" || greek[t.text]) || t.kind == tSym && t.text == "(" {
			p.traits.Fraction = true
			if p.opt.Fraction {
				p.advance()
				return Times(Over(n, d), p.juxtaposed())
			}
		}
	}
	return Over(n, p.juxtaposed())
}

func (p *parser) ratio(n *Node) *Node {
	r := call("ratio", n)
	for p.is(":") && p.err == nil {
		p.advance()
		r.Args = append(r.Args, p.juxtaposed())
	}
	return r
}

// juxtaposed reads factors side by side: 2x\sin y, and mixed numbers: 2\frac{1}{2}.
func (p *parser) juxtaposed() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	if p.is("-") || p.is("+") {
		minus := p.is("-")
		p.advance()
		n := p.juxtaposed()
		if minus {
			return Neg(n)
		}
		return n
	}
	whole := p.tok
	n := p.power()
	for p.err == nil && p.starts() {
		if p.tok.kind == tText && !p.factorAhead() {
			p.unit()
			continue
		}
		if m, ok := p.mixed(n, whole); ok {
			n = m
			continue
		}
		if p.shortUnit(n) {
			continue
		}
		n = Times(n, p.power())
	}
	return n
}

// shortUnit skips a letter that is a unit, with the option Units.
func (p *parser) shortUnit(n *Node) bool {
	if n.Kind != Number || p.tok.kind != tLetter || !strings.Contains(shortUnits, p.tok.text) {
		return false
	}
	l := p.lexer
	t := l.next()
	if t.kind == tSym && t.text == "^" || t.kind == tCmd && t.text == "superscript" {
		l.next()
		t = l.next()
	}
	if t.kind == tSym && t.text == "/" {
		l.next()
		t = l.next()
	}
	if t.kind != tEnd && t.kind != tSep {
		return false
	}
	p.traits.Units = true
	if p.opt.Units {
		p.unit()
	}
	return p.opt.Units
}

// factorAhead tells whether a word is a factor of a product rather than a unit.
func (p *parser) factorAhead() bool { return false }

// mixed reads the fraction of a mixed number after its whole part.
func (p *parser) mixed(n *Node, whole token) (*Node, bool) {
	if whole.kind != tNum || whole.dec || n.Kind != Number || !n.Num.IsInt() || n.Base != 0 {
		return nil, false
	}
	switch {
	case p.cmd("frac") || p.cmd("dfrac") || p.cmd("tfrac") || p.cmd("cfrac"):
		f := p.power()
		if f.Kind == Number && f.Num.Sign() > 0 {
			return Plus(n, f), true
		}
		return Times(n, f), true
	case p.cmd("fraction"):
		f := p.power()
		return Plus(n, f), true
	case p.tok.kind == tNum && p.tok.spaced:
		return p.plainMixed(n)
	}
	return nil, false
}

// plainMixed reads 2 1/2.
func (p *parser) plainMixed(n *Node) (*Node, bool) {
	l := p.lexer
	if t := l.next(); t.kind != tSym || t.text != "/" {
		return nil, false
	}
	d := l.next()
	if d.kind != tNum || d.num.Sign() <= 0 || p.tok.dec || d.dec {
		return nil, false
	}
	f := number(p.tok.num.Div(d.num))
	p.lexer = l
	p.advance()
	return Plus(n, f), true
}

// starts tells whether the token begins a factor.
func (p *parser) starts() bool {
	switch p.tok.kind {
	case tNum, tLetter, tText:
		return true
	case tSym:
		switch p.tok.text {
		case "(", "{", `\{`:
			return true
		case "[":
			return true
		case "|":
			return p.bars == 0 && p.such == 0
		}
	case tCmd:
		switch p.tok.text {
		case "cdot", "times", "div", "ast", "pm", "mp", "cup", "cap", "setminus", "backslash", "rangle", "rvert", "rVert", "rfloor", "rceil", "end", "mid", "Rightarrow",
			"implies", "iff", "to", "rightarrow", "choose", "over", "rbrace", "rbrack", "superscript", "circ", "degree", "prime", "mod", "bmod", "pmod", "bigcup", "bigcap",
			"Longrightarrow", "Leftrightarrow", "subset", "subseteq", "vert", "Vert", "lvert":
			return p.tok.text == "lvert" || p.tok.text == "vert" && p.bars == 0
		}
		return true
	}
	return false
}

// power reads a factor with its exponents and what follows it: x^2, 5!, 20\%, 90^\circ.
func (p *parser) power() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	n := p.atom()
	for p.err == nil {
		switch {
		case p.is("!"):
			p.advance()
			n = call("factorial", n)
		case p.is("%") || p.is(`\%`):
			p.advance()
			n = call("percent", n)
		case p.is("'") || p.cmd("prime"):
			p.advance()
			n = primed(n)
		case p.cmd("degree"):
			p.advance()
			p.temperature()
			n = call("degree", n)
		case p.cmd("superscript"):
			n = Raise(n, number(p.tok.num))
			p.advance()
		case p.is("^"):
			n = p.exponent(n)
		default:
			return n
		}
	}
	return n
}

func primed(n *Node) *Node {
	m := *n
	m.Name += "'"
	return &m
}

// temperature skips the C or F after a degree sign.
func (p *parser) temperature() {
	if p.tok.kind == tLetter && (p.tok.text == "C" || p.tok.text == "F") {
		l := p.lexer
		if t := l.next(); t.kind == tEnd || t.kind == tSep {
			p.advance()
		}
	}
}

func (p *parser) exponent(n *Node) *Node {
	p.advance()
	if p.degreeSign() {
		p.temperature()
		return call("degree", n)
	}
	if p.is("'") || p.cmd("prime") {
		p.advance()
		return primed(n)
	}
	e := p.script()
	if n.Kind == Call && n.Name == "pending" {
		return n
	}
	return Raise(n, e)
}

// degreeSign reads \circ or {\circ}.
func (p *parser) degreeSign() bool {
	l, t := p.lexer, p.tok
	braced := t.kind == tSym && t.text == "{"
	if braced {
		t = l.next()
	}
	if t.kind != tCmd || t.text != "circ" && t.text != "degree" {
		return false
	}
	if braced {
		if t = l.next(); t.kind != tSym || t.text != "}" {
			return false
		}
	}
	p.lexer = l
	p.advance()
	return true
}

// script reads an exponent or an index: a group, a number, a letter, with a sign.
func (p *parser) script() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	if p.is("-") || p.is("+") {
		minus := p.is("-")
		p.advance()
		n := p.script()
		if minus {
			return Neg(n)
		}
		return n
	}
	n := p.atom()
	if p.is("!") {
		p.advance()
		n = call("factorial", n)
	}
	return n
}
