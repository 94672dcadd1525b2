package syntax

import (
	"strings"
)

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

// temperature skips the C or F after a degree sign.
func (p *parser) temperature() {
	if p.tok.kind == tLetter && (p.tok.text == "C" || p.tok.text == "F") {
		l := p.lexer
		if t := l.next(); t.kind == tEnd || t.kind == tSep {
			p.advance()
		}
	}
}
