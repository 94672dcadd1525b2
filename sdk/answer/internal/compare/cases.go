package compare

import (
	"github.com/merit-rl/merit/sdk/answer/internal/rat"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// cases compares functions by cases: each case of the gold is one of the answer, with
// the same value and the same condition. "Otherwise" is any condition.
func (j *Judge) cases(g, a *syntax.Node) Result {
	if !is(g, "cases") || !is(a, "cases") || len(g.Args) != len(a.Args) {
		return Different
	}
	used := make([]bool, len(a.Args))
	result := Equal
	for _, x := range g.Args {
		best := Different
		for i, y := range a.Args {
			if used[i] {
				continue
			}
			if r := j.oneCase(x.Args, y.Args); r > best {
				best = r
				used[i] = r == Equal
			}
			if best == Equal {
				break
			}
		}
		if result = min(result, best); result == Different {
			break
		}
	}
	return result
}

// oneCase compares two cases: the value, then the conditions.
func (j *Judge) oneCase(g, a []*syntax.Node) Result {
	if len(g) == 0 || len(a) == 0 {
		return Different
	}
	r := j.Compare(g[0], a[0])
	if r == Different || otherwise(g) || otherwise(a) {
		return r
	}
	if len(g) != len(a) {
		return Different
	}
	for i := 1; i < len(g); i++ {
		r = min(r, j.Compare(g[i], a[i]))
	}
	return r
}

func otherwise(row []*syntax.Node) bool {
	if len(row) == 1 {
		return true
	}
	switch Plain(source(row[1])) {
	case "otherwise", "else", "elsewhere":
		return true
	}
	return false
}

// constantsOfIntegration are the names of an additive constant.
var constantsOfIntegration = map[string]bool{"c": true, "k": true, "c_1": true, "c_0": true, "d": true, "const": true, "constant": true}

// integrated renames the constant of integration of a to that of g: both are sums in
// which a name of such a constant is a term and occurs nowhere else.
func integrated(g, a *syntax.Node) *syntax.Node {
	c, k := additive(g), additive(a)
	if c == "" || k == "" || c == k || occurrences(g, k) > 0 || occurrences(a, c) > 0 {
		return a
	}
	return rename(a, k, &syntax.Node{Kind: syntax.Symbol, Name: c})
}

// definite takes from two antiderivatives of one variable their values at a point, so
// that they are equal if they differ by a constant.
func definite(g, a *syntax.Node) (f, h *syntax.Node, ok bool) {
	c := additive(g)
	if c == "" || c != additive(a) {
		return g, a, false
	}
	names := map[string]bool{}
	symbols(g, names)
	symbols(a, names)
	delete(names, c)
	if len(names) != 1 {
		return g, a, false
	}
	for x := range names {
		at := &syntax.Node{Kind: syntax.Number, Num: rat.Frac(3, 8)}
		f, h = syntax.Minus(g, rename(g, x, at)), syntax.Minus(a, rename(a, x, at))
	}
	return f, h, true
}

// additive is the constant of integration of a sum, or nothing.
func additive(n *syntax.Node) string {
	if n.Kind != syntax.Sum {
		return ""
	}
	for _, t := range n.Args {
		if t.Kind == syntax.Symbol && constantsOfIntegration[t.Name] && occurrences(n, t.Name) == 1 {
			return t.Name
		}
	}
	return ""
}

func occurrences(n *syntax.Node, name string) int {
	if n.Kind == syntax.Symbol && n.Name == name {
		return 1
	}
	count := 0
	for _, a := range n.Args {
		count += occurrences(a, name)
	}
	return count
}
