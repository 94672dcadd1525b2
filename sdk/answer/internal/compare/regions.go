package compare

import (
	"math"
	"sort"

	"github.com/merit-rl/merit/sdk/answer/internal/numeric"
	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// piece is an interval of the real line; a point has two equal closed ends.
type piece struct {
	lo, hi         *syntax.Node
	l, h           float64
	openLo, openHi bool
}

// region tells that a node is a set of reals with intervals in it.
func region(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Interval, syntax.Union, syntax.Intersection, syntax.Without, syntax.Such:
		return true
	case syntax.SetName:
		return n.Name == "R"
	case syntax.List, syntax.Set:
		for _, a := range n.Args {
			if region(a) || a.Kind == syntax.Relation && !equation(a) {
				return true
			}
		}
	}
	return n.Kind == syntax.Relation && !equation(n)
}

// regions compares two sets of reals; ok is false if a side is not one.
func (j *Judge) regions(g, a *syntax.Node) (Result, bool) {
	if g.Kind == syntax.Interval && (a.Kind == syntax.Set || a.Kind == syntax.List) || a.Kind == syntax.Interval && (g.Kind == syntax.Set || g.Kind == syntax.List && !region(g)) {
		return Different, true
	}
	x, ok1 := j.pieces(g)
	y, ok2 := j.pieces(a)
	if !ok1 || !ok2 {
		return Different, false
	}
	if len(x) != len(y) {
		return Different, true
	}
	result := Equal
	for i := range x {
		if x[i].openLo != y[i].openLo || x[i].openHi != y[i].openHi {
			return Different, true
		}
		result = min(result, j.values(x[i].lo, y[i].lo), j.values(x[i].hi, y[i].hi))
	}
	if result == Equal {
		j.by("exact", 0)
	}
	return result, true
}

// pieces are the disjoint intervals of a set in order.
func (j *Judge) pieces(n *syntax.Node) ([]piece, bool) {
	if j.steps--; j.steps < 0 {
		return nil, false
	}
	switch n.Kind {
	case syntax.SetName:
		if n.Name == "empty" {
			return nil, true
		}
		return []piece{everything()}, n.Name == "R"
	case syntax.Interval:
		return j.interval(n.Args[0], n.Args[1], n.OpenLeft, n.OpenRight)
	case syntax.Tuple:
		if len(n.Args) == 2 {
			return j.interval(n.Args[0], n.Args[1], true, true)
		}
		return nil, false
	case syntax.Set:
		return j.each(n.Args, false)
	case syntax.List:
		return j.each(unequal(n.Args), true)
	case syntax.Union:
		return j.each(n.Args, false)
	case syntax.Intersection, syntax.Without:
		return j.binary(n)
	case syntax.Relation:
		return j.solve(n)
	case syntax.Such:
		return j.each(n.Args[1:], true)
	}
	return j.interval(n, n, false, false)
}

func infinity(sign int64) *syntax.Node {
	n := &syntax.Node{Kind: syntax.Constant, Name: "inf"}
	if sign < 0 {
		return syntax.Neg(n)
	}
	return n
}

func everything() piece {
	return piece{infinity(-1), infinity(1), math.Inf(-1), math.Inf(1), true, true}
}

func (j *Judge) interval(lo, hi *syntax.Node, openLo, openHi bool) ([]piece, bool) {
	l, ok1 := j.end(lo)
	h, ok2 := j.end(hi)
	if !ok1 || !ok2 {
		return nil, false
	}
	if l > h || l == h && (openLo || openHi) {
		return nil, false
	}
	return []piece{{lo, hi, l, h, openLo || math.IsInf(l, 0), openHi || math.IsInf(h, 0)}}, true
}

func (j *Judge) end(n *syntax.Node) (float64, bool) {
	if s := infinite(n); s != 0 {
		return math.Inf(s), true
	}
	if n.Kind == syntax.Relation || collection(n) {
		return 0, false
	}
	return numeric.Value(n, &j.steps)
}

// each is the union of sets. For a list of relations it is their intersection if
// that is not empty: x > 1, x < 3.
func (j *Judge) each(nodes []*syntax.Node, list bool) ([]piece, bool) {
	var union, common []piece
	relations := list
	for i, n := range nodes {
		p, ok := j.pieces(n)
		if !ok {
			return nil, false
		}
		relations = relations && n.Kind == syntax.Relation
		union = append(union, p...)
		if i == 0 {
			common = p
		} else {
			common = intersect(common, p)
		}
	}
	if relations && len(common) > 0 {
		return common, true
	}
	return merge(union), true
}

// unequal completes x \ne 1, 2 to x \ne 1, x \ne 2.
func unequal(nodes []*syntax.Node) []*syntax.Node {
	first := nodes[0]
	if first.Kind != syntax.Relation || len(first.Ops) != 1 || first.Ops[0] != syntax.NE {
		return nodes
	}
	all := []*syntax.Node{first}
	for _, n := range nodes[1:] {
		if n.Kind != syntax.Relation {
			n = &syntax.Node{Kind: syntax.Relation, Args: []*syntax.Node{first.Args[0], n}, Ops: first.Ops}
		}
		all = append(all, n)
	}
	return all
}

// merge joins intervals that touch.
func merge(p []piece) []piece {
	sort.SliceStable(p, func(i, k int) bool {
		return p[i].l < p[k].l || p[i].l == p[k].l && !p[i].openLo && p[k].openLo
	})
	var out []piece
	for _, x := range p {
		if n := len(out); n > 0 && (x.l < out[n-1].h || x.l == out[n-1].h && (!x.openLo || !out[n-1].openHi)) {
			last := &out[n-1]
			if x.h > last.h || x.h == last.h && !x.openHi {
				last.hi, last.h, last.openHi = x.hi, x.h, x.openHi
			}
			continue
		}
		out = append(out, x)
	}
	return out
}

func intersect(a, b []piece) []piece {
	var out []piece
	for _, x := range a {
		for _, y := range b {
			z := x
			if y.l > z.l || y.l == z.l && y.openLo {
				z.lo, z.l, z.openLo = y.lo, y.l, y.openLo
			}
			if y.h < z.h || y.h == z.h && y.openHi {
				z.hi, z.h, z.openHi = y.hi, y.h, y.openHi
			}
			if z.l < z.h || z.l == z.h && !z.openLo && !z.openHi {
				out = append(out, z)
			}
		}
	}
	return merge(out)
}

func complement(p []piece) []piece {
	out := []piece{everything()}
	for _, x := range p {
		var next []piece
		for _, y := range out {
			left, right := y, y
			left.hi, left.h, left.openHi = x.lo, x.l, !x.openLo
			right.lo, right.l, right.openLo = x.hi, x.h, !x.openHi
			next = append(next, left, right)
		}
		out = intersect(next, out)
	}
	kept := out[:0]
	for _, x := range out {
		if !math.IsInf(x.l, 1) && !math.IsInf(x.h, -1) {
			kept = append(kept, x)
		}
	}
	return kept
}

func (j *Judge) binary(n *syntax.Node) ([]piece, bool) {
	a, ok1 := j.pieces(n.Args[0])
	b, ok2 := j.pieces(n.Args[1])
	if n.Kind == syntax.Without {
		b = complement(b)
	}
	return intersect(a, b), ok1 && ok2
}

// solve is the set of a relation in one variable that is linear in it, or of |x| < a.
func (j *Judge) solve(n *syntax.Node) ([]piece, bool) {
	result := []piece{everything()}
	for i, op := range n.Ops {
		p, ok := j.single(n.Args[i], n.Args[i+1], op)
		if !ok {
			return nil, false
		}
		result = intersect(result, p)
	}
	return result, true
}

func (j *Judge) single(l, r *syntax.Node, op syntax.Op) ([]piece, bool) {
	switch op {
	case syntax.In:
		return j.pieces(r)
	case syntax.NotIn:
		p, ok := j.pieces(r)
		return complement(p), ok
	}
	if _, ok := j.end(l); ok {
		l, r, op = r, l, flipped(op)
	}
	if _, ok := j.end(r); !ok {
		return nil, false
	}
	if is(l, "abs") && variable(l.Args[0]) {
		inside, _ := j.single(l.Args[0], r, op)
		outside, ok := j.single(l.Args[0], syntax.Neg(r), flipped(op))
		if op == syntax.LT || op == syntax.LE || op == syntax.NE {
			return intersect(inside, outside), ok
		}
		return merge(append(inside, outside...)), ok
	}
	if !variable(l) {
		return j.linear(l, r, op)
	}
	return j.half(r, op)
}

// variable tells that n is x, or f(x).
func variable(n *syntax.Node) bool {
	return n.Kind == syntax.Symbol || n.Kind == syntax.Call && len(n.Name) > 3 && n.Name[:3] == "fn:" && name(n)
}

// half is the set x op end.
func (j *Judge) half(end *syntax.Node, op syntax.Op) ([]piece, bool) {
	v, ok := j.end(end)
	if !ok {
		return nil, false
	}
	all := everything()
	low, high := all, all
	low.hi, low.h = end, v
	high.lo, high.l = end, v
	switch op {
	case syntax.LT:
		return []piece{low}, true
	case syntax.GT:
		return []piece{high}, true
	case syntax.LE:
		low.openHi = math.IsInf(v, 0)
		return []piece{low}, true
	case syntax.GE:
		high.openLo = math.IsInf(v, 0)
		return []piece{high}, true
	case syntax.NE:
		return []piece{low, high}, true
	case syntax.EQ:
		return []piece{{end, end, v, v, false, false}}, true
	}
	return nil, false
}

func flipped(op syntax.Op) syntax.Op {
	switch op {
	case syntax.LT:
		return syntax.GT
	case syntax.GT:
		return syntax.LT
	case syntax.LE:
		return syntax.GE
	case syntax.GE:
		return syntax.LE
	}
	return op
}

// linear solves c·x + d op r for numbers c and d.
func (j *Judge) linear(l, r *syntax.Node, op syntax.Op) ([]piece, bool) {
	x := theSymbol(l)
	if x == nil {
		return nil, false
	}
	at := func(v int64) (rat.Rat, bool) {
		n := substitute(l, x.Name, syntax.Int(v))
		if n.Kind != syntax.Number {
			return rat.Rat{}, false
		}
		return n.Num, n.Num.OK()
	}
	d, ok0 := at(0)
	one, ok1 := at(1)
	three, ok3 := at(3)
	if !ok0 || !ok1 || !ok3 {
		return nil, false
	}
	c := one.Sub(d)
	if !three.Equal(c.Mul(rat.Int(3)).Add(d)) {
		return j.quadratic(at, r, op)
	}
	if c.Sign() == 0 {
		return nil, false
	}
	if c.Sign() < 0 {
		op = flipped(op)
	}
	end := syntax.Over(syntax.Minus(r, &syntax.Node{Kind: syntax.Number, Num: d}), &syntax.Node{Kind: syntax.Number, Num: c})
	return j.half(end, op)
}

// quadratic solves a·x² + b·x + c op r for numbers a, b, c and r, from the values of the
// left side.
func (j *Judge) quadratic(at func(int64) (rat.Rat, bool), r *syntax.Node, op syntax.Op) ([]piece, bool) {
	if r.Kind != syntax.Number {
		return nil, false
	}
	var v [4]rat.Rat // at -1, 0, 1, 3
	for i, x := range []int64{-1, 0, 1, 3} {
		y, ok := at(x)
		if !ok {
			return nil, false
		}
		v[i] = y.Sub(r.Num)
	}
	half := rat.Frac(1, 2)
	a, b, c := v[2].Add(v[0]).Mul(half).Sub(v[1]), v[2].Sub(v[0]).Mul(half), v[1]
	d := b.Mul(b).Sub(rat.Int(4).Mul(a).Mul(c))
	if a.Sign() == 0 || d.Sign() <= 0 || !v[3].Equal(rat.Int(9).Mul(a).Add(rat.Int(3).Mul(b)).Add(c)) {
		return nil, false
	}
	if a.Sign() < 0 {
		op = flipped(op)
	}
	root := &syntax.Node{Kind: syntax.Call, Name: "root", Args: []*syntax.Node{{Kind: syntax.Number, Num: d.Div(rat.Int(4).Mul(a).Mul(a))}, syntax.Int(2)}}
	middle := &syntax.Node{Kind: syntax.Number, Num: b.Div(a).Mul(half).Neg()}
	low, high := syntax.Minus(middle, root), syntax.Plus(middle, root)
	below, ok1 := j.half(low, flipped(op))
	above, ok2 := j.half(high, op)
	switch op {
	case syntax.GT, syntax.GE:
		return merge(append(below, above...)), ok1 && ok2
	case syntax.LT, syntax.LE:
		return intersect(below, above), ok1 && ok2
	case syntax.NE:
		return intersect(below, above), ok1 && ok2
	}
	return nil, false
}

// theSymbol is the only variable of an expression, or nil.
func theSymbol(n *syntax.Node) *syntax.Node {
	if n.Kind == syntax.Symbol {
		return n
	}
	if n.Kind == syntax.Power && n.Args[1].Kind == syntax.Number {
		return theSymbol(n.Args[0])
	}
	if n.Kind != syntax.Sum && n.Kind != syntax.Product {
		return nil
	}
	var found *syntax.Node
	for _, a := range n.Args {
		if a.Kind == syntax.Number {
			continue
		}
		s := theSymbol(a)
		if s == nil || found != nil && found.Name != s.Name {
			return nil
		}
		found = s
	}
	return found
}

// substitute puts v for a variable and folds sums, products and small powers of numbers.
func substitute(n *syntax.Node, name string, v *syntax.Node) *syntax.Node {
	switch n.Kind {
	case syntax.Symbol:
		if n.Name == name {
			return v
		}
	case syntax.Power:
		b := substitute(n.Args[0], name, v)
		if k, ok := n.Args[1].Num.Int64(); ok && n.Args[1].Kind == syntax.Number && b.Kind == syntax.Number && k > 0 && k < 8 {
			return &syntax.Node{Kind: syntax.Number, Num: b.Num.Pow(k)}
		}
		return syntax.Raise(b, n.Args[1])
	case syntax.Sum, syntax.Product:
		var out *syntax.Node
		for _, a := range n.Args {
			a = substitute(a, name, v)
			switch {
			case out == nil:
				out = a
			case n.Kind == syntax.Sum:
				out = syntax.Plus(out, a)
			default:
				out = syntax.Times(out, a)
			}
		}
		return out
	}
	return n
}
