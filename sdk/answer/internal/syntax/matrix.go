package syntax

import (
	"strings"
)

// environment reads a matrix.
func (p *parser) environment() *Node {
	name := p.index() // the braces after \begin
	p.advance()
	switch name {
	case "pmatrix", "bmatrix", "matrix", "smallmatrix", "array", "vmatrix", "bsmallmatrix", "psmallmatrix", "bmatrix*", "pmatrix*", "vmatrix*":
	default:
		p.fail("does not understand the environment " + quote(name))
		return Int(0)
	}
	if name == "array" && p.is("{") {
		p.pos = p.tok.start
		p.index()
		p.advance()
	}
	m := &Node{Kind: Matrix, Args: p.rows()}
	if !p.cmd("end") {
		p.fail("a matrix is not closed")
		return m
	}
	p.index()
	p.advance()
	if strings.HasPrefix(name, "vmatrix") {
		return call("det", m)
	}
	return m
}

func (p *parser) rows() []*Node {
	var rows []*Node
	row := &Node{Kind: Tuple}
	for p.err == nil && !p.cmd("end") {
		switch {
		case p.tok.kind == tRow:
			p.advance()
			rows, row = append(rows, row), &Node{Kind: Tuple}
			continue
		case p.is("&"):
			p.advance()
			continue
		case p.is("["): // \\[2mm]
			if p.src[max(p.tok.start-1, 0)] == '\\' {
				p.skipTo("]")
				continue
			}
		case p.tok.kind == tEnd:
			return rows
		}
		row.Args = append(row.Args, p.element())
		if !p.is("&") && p.tok.kind != tRow && !p.cmd("end") {
			p.fail("does not understand the matrix at " + quote(p.src[min(p.tok.start, len(p.src)):]))
		}
	}
	if len(row.Args) > 0 {
		rows = append(rows, row)
	}
	return rows
}

func (p *parser) skipTo(sign string) {
	for p.tok.kind != tEnd && !p.is(sign) {
		p.advance()
	}
	p.advance()
}
