package syntax

import "strings"

// unit tells that a word in lower case may follow a number without changing it.
func unit(word string) bool {
	e := find(word)
	return e.is(remark) || e.unit != nil
}

// shortUnits are letters that are a unit when they follow a number at the end: 5 m.
const shortUnits = "mgshL"

// measured reads the unit that begins at the token, and gives it to n.
func (p *parser) measured(n *Node) *Node {
	start := p.tok.start
	p.unit()
	u := measure(p.src[start:min(p.tok.start, len(p.src))])
	if u == nil || n.Unit != nil {
		return n
	}
	p.noted(u)
	return withUnit(n, u)
}

// noted remembers the unit of the value that is read, unless there are two.
func (p *parser) noted(u *Unit) {
	if p.seen != nil && *p.seen != *u {
		p.many = true
	}
	p.seen = u
}

func withUnit(n *Node, u *Unit) *Node {
	m := *n
	m.Unit = u
	return &m
}

// valued reads a value, whose unit may be behind its last term: 2 + \sqrt{3} cm.
func (p *parser) valued() *Node {
	seen, many := p.seen, p.many
	p.seen, p.many = nil, false
	n := p.sets()
	if n.Unit == nil && p.seen != nil && !p.many && (n.Kind == Sum || n.Kind == Product || n.Kind == Number) {
		n = withUnit(n, p.seen)
	}
	p.seen, p.many = seen, many
	return n
}

// unit skips the words of a unit with their exponents.
func (p *parser) unit() {
	if p.cmd("pmod") {
		p.advance()
		p.group()
		return
	}
	p.advance()
	for p.err == nil {
		switch {
		case p.tok.kind == tText || p.tok.roman && p.tok.kind == tLetter:
			p.advance()
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
	return t.kind == tText || t.kind == tLetter && strings.Contains(shortUnits, t.text)
}

// textUnitAhead tells that the name of a unit follows a slash: $7.25/hour.
func (p *parser) textUnitAhead() bool {
	l := p.lexer
	t := l.next()
	return t.kind == tText && unit(strings.ToLower(t.text))
}

func (p *parser) textAhead() bool {
	l := p.lexer
	if l.next().kind != tText {
		return false
	}
	t := l.next()
	return t.kind == tSym && t.text == ")"
}

// shortUnit tells that the token is a letter that is a unit: 5\,\mathrm{N}, and with
// the option Units 5 m.
func (p *parser) shortUnit(n *Node) bool {
	if p.cmd("min") {
		l := p.lexer
		t := l.next()
		return n.Kind == Number && (t.kind == tEnd || t.kind == tSep || t.kind == tNum)
	}
	if p.tok.kind != tLetter {
		return false
	}
	if p.tok.roman && !symbolic(n) && symbolUnit(p.tok.text) != nil {
		return true
	}
	if n.Kind != Number || !strings.Contains(shortUnits, p.tok.text) || !p.lastFactor() {
		return false
	}
	p.traits.Units = true
	return p.opt.Units
}

// lastFactor tells that nothing but units follows the letter at the token.
func (p *parser) lastFactor() bool {
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
	return t.kind == tEnd || t.kind == tSep
}

func symbolic(n *Node) bool {
	if n.Kind == Symbol {
		return true
	}
	for _, a := range n.Args {
		if symbolic(a) {
			return true
		}
	}
	return false
}

// compound adds the smaller part of 5 feet 3 inches.
func (p *parser) compound(n *Node) *Node {
	m := p.power()
	if p.tok.kind == tText || p.shortUnit(m) {
		m = p.measured(m)
	}
	if factor, ok := Convert(m.Unit, n.Unit); ok && m.Unit != nil && n.Unit != nil {
		return withUnit(Plus(n, Times(m, number(factor))), n.Unit)
	}
	return Times(n, m)
}

// temperature gives a value in degrees the unit C or F after the sign.
func (p *parser) temperature(n *Node) *Node {
	if (p.tok.kind == tLetter || p.tok.kind == tText) && (p.tok.text == "C" || p.tok.text == "F" || strings.EqualFold(p.tok.text, "celsius") || strings.EqualFold(p.tok.text, "fahrenheit")) {
		l := p.lexer
		if t := l.next(); t.kind == tEnd || t.kind == tSep {
			u := &Unit{Kind: strings.ToUpper(p.tok.text[:1]), Scale: one}
			p.noted(u)
			n = withUnit(n, u)
			p.advance()
		}
	}
	return n
}
