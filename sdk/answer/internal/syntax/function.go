package syntax

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

func (p *parser) fraction() *Node {
	p.advance()
	if p.tok.kind == tNum && !p.tok.dec && len(p.tok.text) > 2 && isDigit(p.tok.text[0]) && p.tok.end-p.tok.start == len(p.tok.text) {
		if text := p.tok.text; strings.Trim(text, "0123456789") == "" { // \frac123 is 1/23
			p.advance()
			return Over(decimalNode(text[:1]), decimalNode(text[1:]))
		}
	}
	a := p.group()
	b := p.group()
	return Over(a, b)
}

func decimalNode(digits string) *Node { return number(decimal(digits)) }

func (p *parser) root(name string) *Node {
	p.advance()
	if name == "cbrt" {
		return call("root", p.group(), Int(3))
	}
	index := Int(2)
	if p.is("[") {
		p.advance()
		index = p.additive()
		if !p.is("]") {
			p.fail("an index of a root is not closed")
		}
		p.advance()
	}
	if p.tok.kind == tNum { // sqrt2, \sqrt 12: all its digits
		n := p.numeral()
		return call("root", n, index)
	}
	return call("root", p.group(), index)
}

// logarithm reads \log_2 8, \ln x.
func (p *parser) logarithm(name string) *Node {
	p.advance()
	base := map[string]*Node{"log": Int(10), "lg": Int(10), "ln": {Kind: Constant, Name: "e"}}[name]
	var exponent *Node
	for p.is("_") || p.is("^") {
		index := p.is("_")
		p.advance()
		if index {
			base = p.logBase()
		} else {
			exponent = p.script()
		}
	}
	n := call("log", p.argument(), base)
	if exponent != nil {
		return Raise(n, exponent)
	}
	return n
}

// logBase reads the index of a logarithm: one digit or a group. \log_28 is base 2 of 8.
func (p *parser) logBase() *Node {
	if p.tok.kind == tNum && len(p.tok.text) > 1 && p.tok.end < len(p.src) && strings.ContainsAny(p.src[p.tok.end:p.tok.end+1], " ({\\") {
		return p.numeral()
	}
	return p.group()
}

// argument reads the argument of a function: a group, or factors side by side.
func (p *parser) argument() *Node {
	if p.is("(") || p.is("{") || p.is("|") || p.is("[") || p.cmd("lvert") {
		paren := p.is("(") || p.is("[")
		n := p.atom()
		if !paren {
			return p.continued(n)
		}
		for p.is("!") {
			p.advance()
			n = call("factorial", n)
		}
		return n
	}
	if p.is("-") {
		p.advance()
		return Neg(p.argument())
	}
	return p.continued(p.power())
}

// continued adds the factors that follow without parentheses, up to a function.
func (p *parser) continued(n *Node) *Node {
	for p.err == nil && p.starts() && p.tok.kind != tText {
		if p.tok.kind == tCmd && (find(p.tok.text).is(function) && p.tok.text != "sqrt") || p.is("(") || p.is("[") {
			break
		}
		n = Times(n, p.power())
	}
	return n
}

var aliases = map[string]string{
	"asin": "arcsin", "acos": "arccos", "atan": "arctan", "arsinh": "arcsinh", "arcosh": "arccosh", "artanh": "arctanh", "tg": "tan", "ctg": "cot", "arctg": "arctan",
}

// function reads a function with a power and an argument: \sin^2 x, \max(1, 2).
func (p *parser) function(name string) *Node {
	p.advance()
	if a, ok := aliases[name]; ok {
		name = a
	}
	var exponent *Node
	if p.is("^") {
		p.advance()
		exponent = p.script()
	}
	if p.is("_") {
		name += "_" + p.index()
		p.advance()
	}
	n := call(name, p.arguments()...)
	if name == "det" && len(n.Args) == 1 && n.Args[0].Kind == Matrix {
		n = determinant(n.Args[0])
	}
	if exponent == nil {
		return n
	}
	if exponent.Kind == Number && exponent.Num.Equal(rat.Int(-1)) && strings.Contains(" sin cos tan cot sec csc sinh cosh tanh ", " "+name+" ") {
		n.Name = "arc" + name
		return n
	}
	return Raise(n, exponent)
}

func (p *parser) arguments() []*Node {
	n := p.argument()
	if n.Kind == Tuple || n.Kind == Set || n.Kind == List {
		return n.Args
	}
	return []*Node{n}
}

// big reads sums, products, integrals and limits: a call whose name has the limits.
func (p *parser) big(name string) *Node {
	p.advance()
	limits := map[bool]string{}
	for p.is("_") || p.is("^") {
		low := p.is("_")
		limits[low] = p.index()
		p.advance()
	}
	body := p.term()
	if name == "int" || name == "sum" || name == "prod" {
		for p.err == nil && name == "int" && (p.is("+") || p.is("-")) {
			minus := p.is("-")
			p.advance()
			if t := p.term(); minus {
				body = Minus(body, t)
			} else {
				body = Plus(body, t)
			}
		}
	}
	if s := series(name, body, limits[true], limits[false]); s != nil {
		return s
	}
	return call("fn:"+name+"_"+limits[true]+"^"+limits[false], body)
}

// series is a sum or product with its index and both limits, or nil.
func series(name string, body *Node, from, to string) *Node {
	index, first, ok := strings.Cut(from, "=")
	if !ok || name != "sum" && name != "prod" || len(index) != 1 || to == "" {
		return nil
	}
	a, _, err1 := Parse(first, Options{})
	b, _, err2 := Parse(to, Options{})
	if err1 != nil || err2 != nil || !finite(a) || !finite(b) {
		return nil
	}
	return call(name, rename(body, index), &Node{Kind: Symbol, Name: index}, a, b)
}

// finite tells that a limit of a sum is an expression.
func finite(n *Node) bool {
	switch n.Kind {
	case Number, Symbol:
		return true
	case Sum, Product, Power:
		for _, a := range n.Args {
			if !finite(a) {
				return false
			}
		}
		return true
	}
	return n.Kind == Call && n.Name == "floor" && finite(n.Args[0])
}

// rename makes the constants i and e that are an index variables, and variables with
// the index in their own index functions of it: a_k.
func rename(n *Node, index string) *Node {
	if n.Kind == Constant && n.Name == index {
		return &Node{Kind: Symbol, Name: index}
	}
	if letter, sub, ok := strings.Cut(n.Name, "_"); ok && n.Kind == Symbol && strings.Contains(sub, index) {
		if arg, _, err := Parse(sub, Options{}); err == nil {
			return call("fn:"+letter+"_", arg)
		}
	}
	if len(n.Args) == 0 {
		return n
	}
	m := *n
	m.Args = make([]*Node, len(n.Args))
	for i, a := range n.Args {
		m.Args[i] = rename(a, index)
	}
	return &m
}
