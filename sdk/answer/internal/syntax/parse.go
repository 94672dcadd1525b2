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
	bars   int   // open |
	turned int   // open ] at the left of an interval
	such   int   // open sets, where : and | separate a condition
	seen   *Unit // the last unit in the value that is read
	many   bool  // it has several
}

// Parse reads s. The traits tell whether other options would read it otherwise.
func Parse(s string, opt Options) (*Node, Traits, error) {
	if len(s) > MostBytes {
		return nil, Traits{}, ErrLong
	}
	p := &parser{opt: opt}
	p.src, p.commas, p.joined = trim(s), opt.Commas, opt.Joined
	p.matrix = strings.Contains(s, "matrix") || strings.Contains(s, "{array}") || strings.Contains(s, "cases}")
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
		if strings.HasPrefix(s[len(t):], "...") && t != "" && isDigit(t[len(t)-1]) {
			return t + "..."
		}
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
		if p.closes() && (p.depth > 0 || len(group) > 0 || !p.is("]")) { // ]0, 1] begins with one
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
	if p.tok.kind == tRel && (p.tok.op == Approx || p.tok.op == EQ) { // ≈ 17 ft
		p.advance()
	}
	n := p.leading()
	if p.tok.kind == tRel {
		n = p.relation(n)
	}
	for p.cmd("Rightarrow") || p.cmd("implies") || p.cmd("Longrightarrow") || p.cmd("iff") || p.cmd("Leftrightarrow") {
		p.advance()
		n = p.element()
	}
	n = p.remark(n)
	end := min(p.tok.start, len(p.src))
	if n.Text == "" && start < end {
		n.Text = p.src[start:end]
	}
	return n
}

// leading drops text before a value: \text{Answer: } 5.
func (p *parser) leading() *Node {
	if p.tok.kind != tText {
		return p.valued()
	}
	state := *p
	p.advance()
	if p.tok.kind == tEnd || p.tok.kind == tSep || p.tok.kind == tRel || p.tok.kind == tText || p.closes() || p.tok.kind == tSym && p.tok.text != "(" && p.tok.text != "-" {
		*p = state
	}
	return p.valued()
}

// remark skips words after a value, and gives it the unit that they state.
func (p *parser) remark(n *Node) *Node {
	for p.tok.kind == tText || p.cmd("pmod") {
		if n.Kind == Relation {
			p.unit()
		} else {
			n = p.measured(n)
		}
	}
	return n
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
