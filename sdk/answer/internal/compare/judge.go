// Package compare decides whether two trees state the same mathematics: structure
// first (sets, tuples, intervals, relations), then values.
package compare

import (
	"github.com/merit-rl/merit/sdk/answer/internal/numeric"
	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// Result is a decision.
type Result uint8

// The results, in the order of certainty.
const (
	Different Result = iota
	Unknown
	Equal
)

// Judge compares and keeps what decided. The zero value is not ready: use New.
type Judge struct {
	Way     string  // the weakest way that an equality needed
	Error   float64 // the bound of the probability that it is wrong
	Missing string  // why a result is unknown
	steps   int
	depth   int
}

// mostSteps bounds the nodes that one comparison evaluates.
const mostSteps = 30000

// places is the number of decimals that a decimal must agree in.
const places = 6

// New is a judge with its whole budget.
func New() *Judge { return &Judge{Way: "text", steps: mostSteps} }

var rank = map[string]int{"text": 0, "number": 1, "exact": 2, "modular": 3, "numeric": 4}

// by records what an equality needed.
func (j *Judge) by(way string, err float64) Result {
	if rank[way] > rank[j.Way] {
		j.Way = way
	}
	j.Error = min(j.Error+err, 1)
	return Equal
}

func (j *Judge) unknown(why string) Result {
	j.Missing = why
	return Unknown
}

const mostDepth = 40

// Compare decides whether a states g.
func (j *Judge) Compare(g, a *syntax.Node) Result {
	j.depth++
	r := j.compare(g, a)
	j.depth--
	return r
}

func (j *Judge) compare(g, a *syntax.Node) Result {
	if j.steps--; j.steps < 0 || j.depth > mostDepth {
		return j.unknown("the comparison is too long")
	}
	if g.Text != "" && g.Text == a.Text && (g.Unit == a.Unit || g.Unit == nil || a.Unit == nil) {
		return Equal
	}
	g, a = unwrap(constants(g), constants(a))
	switch {
	case g.Kind == syntax.Relation && a.Kind == syntax.Relation:
		return j.relations(g, a)
	case g.Kind == syntax.Word || a.Kind == syntax.Word:
		return j.words(g, a)
	case (text(g) || text(a)) && j.words(g, a) == Equal:
		return Equal
	case is(g, "cases") || is(a, "cases"):
		return j.cases(g, a)
	case hasAxis(g) && a.Kind == syntax.Tuple || hasAxis(a) && g.Kind == syntax.Tuple:
		return j.matrices(g, a)
	case g.Kind == syntax.Matrix || a.Kind == syntax.Matrix || hasMatrix(g) || hasMatrix(a):
		return j.matrices(g, a)
	case collection(g) || collection(a):
		return j.collections(g, a)
	case g.Kind == syntax.Relation || a.Kind == syntax.Relation:
		return Different
	}
	return j.values(g, a)
}

// unwrap drops the left side of x = 5 where the other side is not an equation: the
// answer's always, the gold's only if it is an assignment.
func unwrap(g, a *syntax.Node) (*syntax.Node, *syntax.Node) {
	g, a = approximation(g), approximation(a)
	ge, ae := equation(g), equation(a)
	if ae && !ge && !(g.Kind == syntax.Relation && a.Ops[0] != syntax.In) {
		a = a.Args[len(a.Args)-1]
	} else if ge && !ae && assignment(g) {
		g = g.Args[len(g.Args)-1]
	}
	return g, a
}

// constants is the last side of a chain of numbers: i^3 = i^2 · i = -i.
func constants(n *syntax.Node) *syntax.Node {
	if n.Kind != syntax.Relation || !equation(n) {
		return n
	}
	for _, a := range n.Args {
		if hasSymbol(a) || !scalar(a) {
			return n
		}
	}
	return n.Args[len(n.Args)-1]
}

func hasSymbol(n *syntax.Node) bool {
	if n.Kind == syntax.Symbol || n.Kind == syntax.Word {
		return true
	}
	for _, a := range n.Args {
		if hasSymbol(a) {
			return true
		}
	}
	return false
}

// approximation cuts a chain at ≈: x = 1/3 ≈ 0.33 is x = 1/3, x ≈ 3 is x = 3.
func approximation(n *syntax.Node) *syntax.Node {
	if n.Kind != syntax.Relation {
		return n
	}
	for i, op := range n.Ops {
		if op != syntax.Approx {
			continue
		}
		if i == 0 {
			if name(n.Args[0]) {
				return &syntax.Node{Kind: syntax.Relation, Args: n.Args[:2], Ops: []syntax.Op{syntax.EQ}}
			}
			return n.Args[0]
		}
		return &syntax.Node{Kind: syntax.Relation, Args: n.Args[:i+1], Ops: n.Ops[:i]}
	}
	return n
}

func equation(n *syntax.Node) bool {
	if n.Kind != syntax.Relation {
		return false
	}
	for _, op := range n.Ops {
		if op != syntax.EQ && op != syntax.In {
			return false
		}
	}
	return true
}

func assignment(n *syntax.Node) bool { return equation(n) && name(n.Args[0]) }

// name tells that an expression has only symbols: x, f(x), AB, A:B, |AB|.
func name(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Symbol, syntax.Word:
		return true
	case syntax.Constant:
		return n.Name == "e" || n.Name == "i"
	case syntax.Power:
		return name(n.Args[0]) && n.Args[1].Kind == syntax.Number && n.Args[1].Num.Equal(rat.Int(-1))
	case syntax.Product, syntax.Tuple, syntax.Call:
		for _, a := range n.Args {
			if !name(a) {
				return n.Kind == syntax.Call && n.Name != "root" && n.Name != "log" && len(n.Name) > 3 && n.Name[:3] == "fn:"
			}
		}
		return n.Kind != syntax.Call || n.Name == "abs" || n.Name == "ratio" || n.Name == "norm" || len(n.Name) > 3 && n.Name[:3] == "fn:"
	}
	return false
}

// values compares two expressions.
func (j *Judge) values(g, a *syntax.Node) Result {
	if g.Unit != nil && a.Unit != nil {
		factor, ok := syntax.Convert(g.Unit, a.Unit)
		if !ok {
			return Different
		}
		if !factor.Equal(rat.Int(1)) {
			g = syntax.Times(bare(g), &syntax.Node{Kind: syntax.Number, Num: factor})
		}
	}
	if r, ok := j.marked(g, a); ok {
		return r
	}
	if g.Kind == syntax.Number && a.Kind == syntax.Number {
		return j.numbers(g, a)
	}
	if isInfinite(g) || isInfinite(a) {
		if infinite(g) == infinite(a) && infinite(g) != 0 {
			return j.by("exact", 0)
		}
		return Different
	}
	if g.Kind == syntax.Number && g.Decimal || a.Kind == syntax.Number && a.Decimal {
		return j.decimals(g, a)
	}
	return j.expressions(g, a)
}

// bare is a quantity without its unit.
func bare(n *syntax.Node) *syntax.Node {
	m := *n
	m.Unit, m.Text = nil, ""
	return &m
}

// marked compares what has a percent or degree sign on a side: the signs may be absent.
func (j *Judge) marked(g, a *syntax.Node) (Result, bool) {
	gp, ap := is(g, "percent"), is(a, "percent")
	switch {
	case gp && ap:
		return j.values(g.Args[0], a.Args[0]), true
	case gp && proper(a) || ap && proper(g): // 1/2 is 50 %, not 0.5 %
		return j.values(whole(g), whole(a)), true
	case gp:
		return j.either(a, g.Args[0], percent(g)), true
	case ap:
		return j.either(g, a.Args[0], percent(a)), true
	}
	if is(g, "clock") || is(a, "clock") || is(g, "date") || is(a, "date") {
		return j.calendar(g, a), true
	}
	if is(g, "ratio") && is(a, "ratio") {
		return j.ratios(g, a), true
	}
	gd, ad := is(g, "degree"), is(a, "degree")
	switch {
	case gd && ad:
		return j.values(g.Args[0], a.Args[0]), true
	case gd:
		return j.either(a, g.Args[0], angle(g)), true
	case ad:
		return j.either(g, a.Args[0], angle(a)), true
	}
	return Different, false
}

// ratios compares a:b:c up to a common factor.
func (j *Judge) ratios(g, a *syntax.Node) Result {
	if len(g.Args) != len(a.Args) {
		return Different
	}
	if j.inOrder(g.Args, a.Args) == Equal {
		return Equal
	}
	result := Equal
	for i := 1; i < len(g.Args); i++ {
		result = min(result, j.values(syntax.Times(g.Args[i], a.Args[0]), syntax.Times(a.Args[i], g.Args[0])))
	}
	if g.Args[0].Kind == syntax.Number && g.Args[0].Num.Sign() == 0 || len(g.Args) == 2 && g.Args[1].Kind == syntax.Number && g.Args[1].Num.Sign() == 0 {
		return Different
	}
	return result
}

func is(n *syntax.Node, call string) bool { return n.Kind == syntax.Call && n.Name == call }

// proper tells that a number was written as a fraction below one.
func proper(n *syntax.Node) bool {
	return n.Kind == syntax.Number && !n.Decimal && !n.Num.IsInt() && n.Num.Abs().Cmp(rat.Int(1)) < 0
}

// whole is the value of a number with its percent sign.
func whole(n *syntax.Node) *syntax.Node {
	if is(n, "percent") {
		return percent(n)
	}
	return n
}

func percent(n *syntax.Node) *syntax.Node {
	return syntax.Times(n.Args[0], &syntax.Node{Kind: syntax.Number, Num: rat.Frac(1, 100)})
}

func angle(n *syntax.Node) *syntax.Node {
	pi := &syntax.Node{Kind: syntax.Constant, Name: "pi"}
	return syntax.Times(n.Args[0], syntax.Over(pi, syntax.Int(180)))
}

// either is whether one of two readings is n.
func (j *Judge) either(n, first, second *syntax.Node) Result {
	r := j.values(n, first)
	if r == Equal {
		return r
	}
	return max(r, j.values(n, second))
}

func (j *Judge) numbers(g, a *syntax.Node) Result {
	switch {
	case g.Base != 0 && a.Base != 0 && g.Base != a.Base:
		x, ok1 := inBase(g)
		y, ok2 := inBase(a)
		if ok1 && ok2 && x.Equal(y) {
			return j.by("number", 0)
		}
		return Different
	case g.Num.Equal(a.Num):
		return j.by("number", 0)
	case (g.Decimal || a.Decimal) && g.Num.OK() && a.Num.OK() && numeric.Round(g.Num, places).Equal(numeric.Round(a.Num, places)):
		return j.by("number", 0)
	}
	return Different
}

// inBase is the value of a numeral such as 204_5.
func inBase(n *syntax.Node) (rat.Rat, bool) {
	v := rat.Int(0)
	for _, c := range n.Name {
		d := syntax.Digit(c)
		if d < 0 || d >= int64(n.Base) {
			return v, false
		}
		v = v.Mul(rat.Int(int64(n.Base))).Add(rat.Int(d))
	}
	return v, v.OK()
}

// decimals compares a decimal with an expression, rounded.
func (j *Judge) decimals(g, a *syntax.Node) Result {
	x, ok1 := numeric.Rounded(g, places, &j.steps)
	y, ok2 := numeric.Rounded(a, places, &j.steps)
	if ok1 && ok2 {
		if x.Equal(y) {
			return j.by("number", 0)
		}
		return Different
	}
	return j.expressions(g, a)
}

// scalar tells that an expression has no sets, tuples or intervals in it.
func scalar(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Number, syntax.Symbol, syntax.Constant:
		return true
	case syntax.Sum, syntax.Product, syntax.Power, syntax.Call:
		for _, a := range n.Args {
			if !scalar(a) {
				return n.Kind == syntax.Call && n.Name != "percent" && n.Name != "degree"
			}
		}
		return true
	}
	return false
}

func isInfinite(n *syntax.Node) bool { return infinite(n) != 0 }

// infinite is 1 for ∞, -1 for -∞, 0 otherwise.
func infinite(n *syntax.Node) int {
	switch {
	case n.Kind == syntax.Constant && n.Name == "inf":
		return 1
	case n.Kind == syntax.Product && len(n.Args) == 2 && n.Args[0].Kind == syntax.Number:
		return n.Args[0].Num.Sign() * infinite(n.Args[1])
	}
	return 0
}

// expressions compares exactly if both are rational numbers, in a prime field if
// they are rational functions, then numerically.
func (j *Judge) expressions(g, a *syntax.Node) Result {
	if !scalar(g) || !scalar(a) {
		return Different
	}
	a = periodic(g, integrated(g, a))
	if f, h, ok := definite(g, a); ok {
		g, a = f, h
	}
	x, ok1 := numeric.Fold(g, &j.steps)
	if ok1 {
		if y, ok2 := numeric.Fold(a, &j.steps); ok2 {
			if x.Equal(y) {
				return j.by("exact", 0)
			}
			return Different
		}
	}
	switch numeric.Modular(g, a, &j.steps) {
	case numeric.Same:
		return j.by("modular", numeric.ModularBound)
	case numeric.Differ:
		return Different
	}
	switch numeric.Equal(g, a, &j.steps) {
	case numeric.Same:
		return j.by("numeric", numeric.Bound)
	case numeric.Differ:
		return Different
	}
	return j.unknown("no value of the expressions could be computed")
}
