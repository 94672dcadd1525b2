package syntax

import "github.com/merit-rl/merit/sdk/answer/internal/rat"

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
			n = without(n, p.term())
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

// without is a difference of values, or of sets: \mathbb{R} - \{0\}.
func without(a, b *Node) *Node {
	if (a.Kind == SetName || a.Kind == Interval || a.Kind == Union) && (b.Kind == Set || b.Kind == Interval) {
		return &Node{Kind: Without, Args: []*Node{a, b}}
	}
	return Minus(a, b)
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
	n := p.juxtaposed()
	for p.err == nil {
		switch {
		case p.is("*") || p.cmd("cdot") || p.cmd("times") || p.cmd("ast"):
			p.advance()
			n = Times(n, p.juxtaposed())
		case p.is("/") && p.textUnitAhead():
			n = p.measured(n)
		case p.is("/") || p.cmd("div"):
			p.advance()
			n = p.divide(n)
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
func (p *parser) divide(n *Node) *Node {
	if p.tok.kind == tNum && n.Kind == Number {
		d := number(p.tok.num)
		l := p.lexer
		if t := l.next(); t.kind == tLetter || t.kind == tCmd && (t.text == "pi" || t.text == "sqrt" || find(t.text).is(greek)) || t.kind == tSym && t.text == "(" {
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
		if p.tok.kind == tText || p.shortUnit(n) {
			n = p.measured(n)
			continue
		}
		if n.Kind == Call && n.Name == "degree" && p.tok.kind == tNum {
			if m, ok := p.arcMinutes(n); ok {
				n = m
				continue
			}
		}
		if n.Unit != nil && p.tok.kind == tNum {
			n = p.compound(n)
			continue
		}
		if m, ok := p.mixed(n, whole); ok {
			n = m
			continue
		}
		n = beside(n, p.power())
	}
	return n
}

// beside is a product of factors without a sign, or the point that a letter names:
// V(2, 5).
func beside(a, b *Node) *Node {
	if a.Kind == Symbol && (b.Kind == Tuple && len(b.Args) > 1) {
		return b
	}
	return Times(a, b)
}

// arcMinutes reads the minutes and seconds of 22^\circ 30' 15”.
func (p *parser) arcMinutes(n *Node) (*Node, bool) {
	value, part, found := n.Args[0], rat.Int(1), false
	for p.tok.kind == tNum && part.Cmp(rat.Frac(1, 3600)) > 0 {
		state := *p
		num := p.tok.num
		p.advance()
		primes := 0
		if p.is("^") {
			p.advance()
		}
		for p.is("'") || p.cmd("prime") {
			primes++
			p.advance()
		}
		part = part.Mul(rat.Frac(1, 60))
		if primes == 0 || primes == 1 && part.Cmp(rat.Frac(1, 60)) < 0 {
			*p = state
			break
		}
		value, found = Plus(value, number(num.Mul(part))), true
	}
	return call("degree", value), found
}

// mixed reads the fraction of a mixed number after its whole part.
func (p *parser) mixed(n *Node, whole token) (*Node, bool) {
	if whole.kind != tNum || whole.dec || n.Kind != Number || !n.Num.IsInt() || n.Base != 0 {
		return nil, false
	}
	switch {
	case p.cmd("frac") || p.cmd("dfrac") || p.cmd("tfrac") || p.cmd("cfrac"):
		f := p.atom()
		if f.Kind == Number && f.Num.Sign() > 0 {
			return p.postfix(Plus(n, f)), true
		}
		return Times(n, p.postfix(f)), true
	case p.cmd("fraction"):
		return p.postfix(Plus(n, p.atom())), true
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
	return p.postfix(Plus(n, f)), true
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
			return p.turned == 0
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
