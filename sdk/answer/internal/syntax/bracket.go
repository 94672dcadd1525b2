package syntax

import "strings"

// bracket reads what begins with a sign.
func (p *parser) bracket(s string) *Node {
	switch s {
	case "(", "[", "]":
		return p.parenthesis(s)
	case "{":
		return p.brace()
	case `\{`:
		return p.set()
	case "|":
		return p.bar()
	case `\|`:
		return p.norm()
	case "^":
		return p.chosen()
	case "?", "_":
		if t := p.lexer; s == "_" && (t.src[min(t.pos, len(t.src)):] != "") && p.combination() {
			return p.chosen()
		}
		p.advance()
		for p.is("_") {
			p.advance()
		}
		return &Node{Kind: Symbol, Name: "?"}
	}
	p.fail("does not understand " + quote(p.src[min(p.tok.start, len(p.src)):]))
	return Int(0)
}

// combination tells that an index before a letter begins _{10}C_3.
func (p *parser) combination() bool {
	rest := p.src[p.pos:]
	if end := Closing(rest, 0); rest[0] == '{' && end > 0 {
		rest = rest[end+1:]
	} else {
		rest = rest[1:]
	}
	rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " "), `\mathrm{`), " ")
	return len(rest) > 1 && (rest[0] == 'C' || rest[0] == 'P') && strings.IndexByte(rest[:min(len(rest), 3)], '_') > 0
}

// parenthesis reads a group, a tuple or an interval.
func (p *parser) parenthesis(open string) *Node {
	p.advance()
	if open == "]" && p.tok.kind == tEnd {
		p.fail("does not understand ]")
	}
	bars, such := p.bars, p.such
	p.bars, p.such = 0, 0
	if open == "]" {
		p.turned++
	}
	groups, _ := p.groups()
	if open == "]" {
		p.turned--
	}
	p.bars, p.such = bars, such
	shut := p.tok.text
	if !p.is(")") && !p.is("]") && !(open == "]" && p.is("[")) {
		if p.tok.kind == tEnd && p.err == nil { // a bracket that is not closed
			shut = map[string]string{"(": ")", "[": "]", "]": "["}[open]
		} else {
			p.fail("a bracket is not closed")
			return Int(0)
		}
	}
	p.advance()
	return bracketed(open, shut, flatten(groups))
}

func bracketed(open, shut string, args []*Node) *Node {
	switch {
	case open == "[" && shut == "]" && rows(args):
		return &Node{Kind: Matrix, Args: args}
	case len(args) == 1 && (open != "[" || shut != "]" || args[0].Kind != Tuple):
		return args[0]
	case open == "[" && shut == "]" && len(args) > 2:
		return &Node{Kind: Tuple, Args: args, Name: "["}
	case len(args) == 2 && (open != "(" || shut != ")"):
		return &Node{Kind: Interval, Args: args, OpenLeft: open == "(" || open == "]", OpenRight: shut == ")" || shut == "["}
	}
	return &Node{Kind: Tuple, Args: args}
}

// rows tells that what is in brackets are lists in brackets of the same length:
// [[1, 0], [0, 1]].
func rows(args []*Node) bool {
	for _, a := range args {
		if len(a.Args) != len(args[0].Args) || !(a.Kind == Interval && !a.OpenLeft && !a.OpenRight || a.Kind == Tuple && a.Name == "[") {
			return false
		}
	}
	return len(args) > 0
}

// between reads "between 2 and 3" as an open interval.
func (p *parser) between() *Node {
	p.advance()
	lo := p.additive()
	if p.tok.kind != tSep {
		p.fail("nothing after 'between'")
		return lo
	}
	p.advance()
	return &Node{Kind: Interval, Args: []*Node{lo, p.additive()}, OpenLeft: true, OpenRight: true}
}

// brace reads a group of LaTeX, or a set if there are commas in it.
func (p *parser) brace() *Node {
	p.advance()
	if p.is("}") {
		p.advance()
		if p.is("_") || p.is("^") {
			return p.chosen()
		}
		return &Node{Kind: SetName, Name: "empty"}
	}
	bars, such := p.bars, p.such
	p.bars, p.such = 0, 0
	groups, _ := p.groups()
	p.bars, p.such = bars, such
	args := flatten(groups)
	if len(args) == 1 && (p.cmd("choose") || p.cmd("over")) {
		args[0] = p.infix(args[0])
	}
	if !p.is("}") && p.tok.kind != tEnd {
		p.fail("a brace is not closed")
		return Int(0)
	}
	p.advance()
	if len(args) == 1 {
		return args[0]
	}
	return &Node{Kind: Set, Args: args}
}

// chosen reads {}_{10}C_3 and ^{10}P_3 from the first index on.
func (p *parser) chosen() *Node {
	p.advance()
	n := p.script()
	name := p.tok.text
	if p.tok.kind != tLetter || name != "C" && name != "P" {
		p.fail("does not understand an index without a letter")
		return n
	}
	p.advance()
	if !p.is("_") {
		p.fail("does not understand " + name + " without an index")
		return n
	}
	p.advance()
	k := p.script()
	if name == "C" {
		return call("binomial", n, k)
	}
	return Times(call("binomial", n, k), call("factorial", k))
}

func (p *parser) infix(a *Node) *Node {
	choose := p.cmd("choose")
	p.advance()
	b := p.additive()
	if choose {
		return call("binomial", a, b)
	}
	return Over(a, b)
}

// set reads \{1, 2\} and \{x \mid x > 0\}.
func (p *parser) set() *Node {
	p.advance()
	if p.setEnd() {
		p.advance()
		return &Node{Kind: SetName, Name: "empty"}
	}
	p.such++
	groups, _ := p.groups()
	p.such--
	args := flatten(groups)
	n := &Node{Kind: Set, Args: args}
	if len(args) == 1 && (p.is("|") || p.is(":") || p.cmd("mid") || p.cmd("vert")) {
		p.advance()
		conditions, _ := p.groups()
		n = &Node{Kind: Such, Args: append(args, flatten(conditions)...)}
	}
	if !p.setEnd() && p.tok.kind != tEnd {
		p.fail("a set is not closed")
	}
	p.advance()
	return n
}

func (p *parser) setEnd() bool { return p.is(`\}`) || p.cmd("rbrace") || p.is("}") }

// bar reads an absolute value.
func (p *parser) bar() *Node {
	p.advance()
	p.bars++
	n := p.additive()
	p.bars--
	if !p.is("|") && !p.cmd("rvert") && !p.cmd("vert") {
		p.fail("an absolute value is not closed")
		return n
	}
	p.advance()
	return call("abs", n)
}

func (p *parser) norm() *Node {
	p.advance()
	n := p.additive()
	if !p.is(`\|`) && !p.cmd("rVert") && !p.cmd("Vert") {
		p.fail("a norm is not closed")
		return n
	}
	p.advance()
	return call("norm", n)
}

var closers = map[string][]string{
	"lfloor": {"floor", "rfloor"}, "lceil": {"ceil", "rceil"}, "langle": {"", "rangle"}, "lbrace": {"", "rbrace"}, "lbrack": {"", "rbrack"}, "lparen": {"", "rparen"},
}

// named reads brackets that have names.
func (p *parser) named(open string) *Node {
	if open == "lbrace" {
		return p.set()
	}
	p.advance()
	groups, _ := p.groups()
	args := flatten(groups)
	c := closers[open]
	if !p.cmd(c[1]) && !(open == "langle" && p.is(">")) && !(open == "lbrack" && (p.is(")") || p.is("]"))) {
		p.fail("a bracket is not closed")
		return Int(0)
	}
	p.advance()
	switch {
	case c[0] != "" && len(args) == 1:
		return call(c[0], args[0])
	case open == "lbrack":
		return bracketed("[", "]", args)
	case len(args) == 1:
		return args[0]
	}
	return &Node{Kind: Tuple, Args: args}
}

// environment reads a matrix.
func (p *parser) environment() *Node {
	name := p.index() // the braces after \begin
	p.advance()
	switch name {
	case "cases", "dcases", "rcases", "aligned", "gathered":
		return p.cases()
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
		return determinant(m)
	}
	return m
}

// Bounds of a determinant that is expanded: its rows and the nodes of its elements.
const (
	mostRows     = 4
	mostElements = 100
)

// determinant expands a determinant by its first row, or leaves it as a call.
func determinant(m *Node) *Node {
	budget := mostElements
	for _, row := range m.Args {
		if len(row.Args) != len(m.Args) || len(m.Args) > mostRows || !within(row, &budget) {
			return call("det", m)
		}
	}
	return expanded(m)
}

// within tells whether an expression has no more nodes than the budget, which it uses up.
func within(n *Node, budget *int) bool {
	*budget--
	for _, a := range n.Args {
		if *budget < 0 || !within(a, budget) {
			return false
		}
	}
	return *budget >= 0
}

func expanded(m *Node) *Node {
	if len(m.Args) == 1 {
		return m.Args[0].Args[0]
	}
	sum := Int(0)
	for i, head := range m.Args[0].Args {
		minor := &Node{Kind: Matrix}
		for _, row := range m.Args[1:] {
			rest := append(row.Args[:i:i], row.Args[i+1:]...)
			minor.Args = append(minor.Args, &Node{Kind: Tuple, Args: rest})
		}
		t := Times(head, expanded(minor))
		if i%2 == 1 {
			t = Neg(t)
		}
		sum = Plus(sum, t)
	}
	return sum
}

// cases reads a function by cases, or a system of equations: a list.
func (p *parser) cases() *Node {
	n := call("cases")
	system := true
	for p.err == nil && !p.cmd("end") {
		if p.tok.kind == tRow {
			p.advance()
			continue
		}
		var row []*Node
		for p.err == nil && p.tok.kind != tRow && !p.cmd("end") {
			if p.is("&") || p.tok.kind == tSep {
				p.advance()
				continue
			}
			if p.tok.kind == tEnd {
				p.fail("cases are not closed")
				break
			}
			row = append(row, p.element())
			if !p.is("&") && p.tok.kind != tSep && p.tok.kind != tRow && !p.cmd("end") && !p.is(".") {
				p.fail("does not understand the cases at " + quote(p.src[min(p.tok.start, len(p.src)):]))
			}
			if p.is(".") {
				p.advance()
			}
		}
		system = system && len(row) == 1
		n.Args = append(n.Args, &Node{Kind: Tuple, Args: row})
	}
	if p.err != nil || len(n.Args) == 0 {
		p.fail("cases are not closed")
		return n
	}
	p.index()
	p.advance()
	if !system {
		return n
	}
	list := &Node{Kind: List}
	for _, row := range n.Args {
		list.Args = append(list.Args, row.Args...)
	}
	return list
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
