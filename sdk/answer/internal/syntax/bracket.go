package syntax

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
		return p.bar("|")
	case `\|`:
		return p.norm()
	case "?", "_":
		p.advance()
		for p.is("_") {
			p.advance()
		}
		return &Node{Kind: Symbol, Name: "?"}
	}
	p.fail("does not understand " + quote(p.src[min(p.tok.start, len(p.src)):]))
	return Int(0)
}

// parenthesis reads a group, a tuple or an interval.
func (p *parser) parenthesis(open string) *Node {
	p.advance()
	if open == "]" && p.tok.kind == tEnd {
		p.fail("does not understand ]")
	}
	bars, such := p.bars, p.such
	p.bars, p.such = 0, 0
	groups, _ := p.groups()
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
	case len(args) == 1:
		return args[0]
	case len(args) == 2 && (open != "(" || shut != ")"):
		return &Node{Kind: Interval, Args: args, OpenLeft: open == "(" || open == "]", OpenRight: shut == ")" || shut == "["}
	}
	return &Node{Kind: Tuple, Args: args}
}

// brace reads a group of LaTeX, or a set if there are commas in it.
func (p *parser) brace() *Node {
	p.advance()
	if p.is("}") {
		p.advance()
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
func (p *parser) bar(_ string) *Node {
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
