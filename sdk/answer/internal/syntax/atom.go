package syntax

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// atom reads what needs no operator: a number, a letter, a group, a command.
func (p *parser) atom() *Node {
	if !p.enter() {
		return Int(0)
	}
	defer p.leave()
	t := p.tok
	switch t.kind {
	case tNum:
		return p.numeral()
	case tLetter:
		p.advance()
		return p.letter(t.text)
	case tText:
		p.advance()
		return p.subscript(&Node{Kind: Symbol, Name: Letters(t.text)})
	case tCmd:
		return p.command(t.text)
	case tSym:
		return p.bracket(t.text)
	}
	p.fail("a value is missing")
	return Int(0)
}

// Letters is a text without what does not matter in a word.
func Letters(s string) string {
	return strings.ToLower(strings.Trim(strings.Join(strings.Fields(s), " "), " .,;:()~"))
}

func (p *parser) numeral() *Node {
	n := &Node{Kind: Number, Num: p.tok.num, Decimal: p.tok.dec, Name: p.tok.text}
	p.advance()
	if !n.Num.OK() {
		p.fail("a number is too long")
	}
	if p.is("_") {
		p.advance()
		n.Base = p.base()
	}
	return n
}

var baseNames = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "sixteen": 16}

// base reads the index of a numeral.
func (p *parser) base() int {
	t := p.tok
	if t.kind == tSym && t.text == "{" {
		p.advance()
		t = p.tok
	}
	braced := t.start != p.tok.start || p.src[max(t.start-1, 0)] == '{'
	base := 0
	switch t.kind {
	case tNum:
		b, _ := t.num.Int64()
		base = int(min(max(b, 0), 64))
	case tText:
		base = baseNames[Letters(t.text)]
	}
	for braced && !p.is("}") && p.tok.kind != tEnd {
		p.advance()
	}
	p.advance()
	return base
}

// letter reads a variable, a constant, or a function applied: x_1, e, f(x).
func (p *parser) letter(s string) *Node {
	switch s {
	case "e", "i":
		if !p.is("_") {
			return &Node{Kind: Constant, Name: s}
		}
	}
	n := p.subscript(&Node{Kind: Symbol, Name: strings.ToLower(s)})
	for p.is("'") {
		p.advance()
		n.Name += "'"
	}
	if p.is("(") && (strings.Contains("fghFGH", s) || p.defined()) {
		return p.applied(n.Name)
	}
	return n
}

// defined tells that a letter before parentheses is a function that an equation
// defines: P(x) = …, \Phi(x, y) = ….
func (p *parser) defined() bool {
	end := strings.IndexByte(p.src[p.tok.start:], ')')
	if end < 0 || end > 20 {
		return false
	}
	inside, after := p.src[p.tok.start+1:p.tok.start+end], strings.TrimLeft(p.src[p.tok.start+end+1:], " ")
	return strings.HasPrefix(after, "=") && strings.Trim(inside, "abcdefghijklmnopqrstuvwxyzXYZ, ") == "" && inside != ""
}

// applied reads the arguments of an unknown function.
func (p *parser) applied(name string) *Node {
	p.advance()
	groups, _ := p.groups()
	if p.is(")") {
		p.advance()
	}
	return call("fn:"+name, flatten(groups)...)
}

// subscript adds an index to the name of a variable.
func (p *parser) subscript(n *Node) *Node {
	if !p.is("_") {
		return n
	}
	n.Name += "_" + p.index()
	p.advance()
	return n
}

// index is the text of the index that begins after the token "_"; it leaves the
// last of it as the token.
func (p *parser) index() string {
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == '{' {
		end := Closing(p.src, p.pos)
		if end < 0 {
			p.fail("a brace is not closed")
			return ""
		}
		text := p.src[p.pos+1 : end]
		p.pos = end + 1
		return squeeze(text)
	}
	p.advance()
	return squeeze(p.src[min(p.tok.start, len(p.src)):p.tok.end])
}

func squeeze(s string) string {
	s = strings.NewReplacer(" ", "", "{", "", "}", "", `\text`, "", `\mathrm`, "", `\,`, "").Replace(s)
	return strings.ToLower(s)
}

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

// group reads the argument of a command: {…}, or one digit, letter or command.
func (p *parser) group() *Node {
	if p.tok.kind == tNum && p.tok.start < len(p.src) && isDigit(p.src[p.tok.start]) { // \frac12
		d := p.src[p.tok.start]
		p.pos = p.tok.start + 1
		p.advance()
		return Int(int64(d - '0'))
	}
	if p.is("-") {
		p.advance()
		return Neg(p.group())
	}
	return p.atom()
}

// command reads what a command begins.
func (p *parser) command(name string) *Node {
	if constant, ok := constants[name]; ok {
		p.advance()
		return constant
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac", "sfrac", "nicefrac":
		return p.fraction()
	case "fraction":
		n := number(p.tok.num)
		p.advance()
		return n
	case "sqrt", "cbrt":
		return p.root(name)
	case "binom", "dbinom", "tbinom":
		p.advance()
		a := p.group()
		return call("binomial", a, p.group())
	case "lvert", "vert":
		return p.bar(name)
	case "lVert", "Vert":
		return p.norm()
	case "lfloor", "lceil", "langle", "lbrace", "lbrack", "lparen":
		return p.named(name)
	case "begin":
		return p.environment()
	case "log", "ln", "lg":
		return p.logarithm(name)
	case "sum", "prod", "int", "lim", "iint", "oint", "bigoplus":
		return p.big(name)
	}
	if functions[name] {
		return p.function(name)
	}
	return p.other(name)
}

var constants = map[string]*Node{
	"pi": {Kind: Constant, Name: "pi"}, "infty": {Kind: Constant, Name: "inf"}, "emptyset": {Kind: SetName, Name: "empty"}, "varnothing": {Kind: SetName, Name: "empty"},
	"O": {Kind: SetName, Name: "empty"}, "imath": {Kind: Constant, Name: "i"}, "bbR": {Kind: SetName, Name: "R"}, "bbZ": {Kind: SetName, Name: "Z"},
	"bbN": {Kind: SetName, Name: "N"}, "bbQ": {Kind: SetName, Name: "Q"}, "bbC": {Kind: SetName, Name: "C"}, "exponentialE": {Kind: Constant, Name: "e"},
	"imaginaryI": {Kind: Constant, Name: "i"},
}

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
		if p.tok.kind == tCmd && (functions[p.tok.text] && p.tok.text != "sqrt") || p.is("(") || p.is("[") {
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
	if err1 != nil || err2 != nil || a.Kind != Number || b.Kind != Number {
		return nil
	}
	return call(name, rename(body, index), &Node{Kind: Symbol, Name: index}, a, b)
}

// rename makes the constants i and e that are an index variables.
func rename(n *Node, index string) *Node {
	if n.Kind == Constant && n.Name == index {
		return &Node{Kind: Symbol, Name: index}
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

// other reads accents, variables and what is not known.
func (p *parser) other(name string) *Node {
	switch name {
	case "overline", "bar", "vec", "hat", "tilde", "widehat", "overrightarrow", "widetilde", "dot", "overleftrightarrow", "mathcal", "mathfrak", "mathscr", "wideparen", "overarc", "acute", "ddot":
		text := p.index()
		p.advance()
		return p.subscript(&Node{Kind: Symbol, Name: name + ":" + text})
	case "angle", "triangle", "measuredangle", "Delta", "nabla", "partial", "square", "star", "cdot", "prime":
		p.advance()
		return p.subscript(&Node{Kind: Symbol, Name: strings.ToLower(name)})
	case "phantom", "hspace", "vspace", "label", "tag", "hphantom", "kern", "mspace":
		p.index()
		p.advance()
		if p.closes() || p.tok.kind == tSep {
			p.fail("a value is missing")
			return Int(0)
		}
		return p.power()
	}
	if greek[name] {
		p.advance()
		if name == "Gamma" && p.is("(") {
			return call("gamma", p.atom())
		}
		n := p.subscript(&Node{Kind: Symbol, Name: strings.ToLower(name)})
		if p.is("(") && p.defined() {
			return p.applied(n.Name)
		}
		return n
	}
	p.fail("does not know \\" + name)
	return Int(0)
}
