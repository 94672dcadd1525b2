package syntax

// power reads a factor with its exponents and what follows it: x^2, 5!, 20\%, 90^\circ.
func (p *parser) power() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	return p.postfix(p.atom())
}

// postfix reads the exponents and signs behind a factor.
func (p *parser) postfix(n *Node) *Node {
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
			n = p.temperature(call("degree", n))
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

func (p *parser) exponent(n *Node) *Node {
	p.advance()
	if p.degreeSign() {
		return p.temperature(call("degree", n))
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
