package compare

import (
	"slices"
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// axes is a vector that is written with i, j and k as the tuple of n coordinates, or n
// itself.
func axes(n *syntax.Node, size int) *syntax.Node {
	if !hasAxis(n) || size < 2 || size > 3 {
		return n
	}
	t := &syntax.Node{Kind: syntax.Tuple}
	for i := range size {
		c := n
		for k, axis := range []string{"unit:i", "unit:j", "unit:k"} {
			v := int64(0)
			if k == i {
				v = 1
			}
			c = substitute(c, axis, syntax.Int(v))
		}
		t.Args = append(t.Args, c)
	}
	return t
}

func hasAxis(n *syntax.Node) bool {
	if n.Kind == syntax.Symbol {
		return strings.HasPrefix(n.Name, "unit:")
	}
	if n.Kind == syntax.Sum || n.Kind == syntax.Product {
		return slices.ContainsFunc(n.Args, hasAxis)
	}
	return false
}

func hasMatrix(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Matrix:
		return true
	case syntax.Sum, syntax.Product:
		for _, a := range n.Args {
			if hasMatrix(a) {
				return true
			}
		}
	}
	return false
}

// matrices compares by elements; a row or column and a tuple are the same vector.
func (j *Judge) matrices(g, a *syntax.Node) Result {
	g, a = matrix(g), matrix(a)
	if g == nil || a == nil {
		return j.unknown("the product of matrices could not be computed")
	}
	if g.Kind != syntax.Matrix || a.Kind != syntax.Matrix {
		g, a = axes(g, len(vector(a))), axes(a, len(vector(g)))
		x, y := vector(g), vector(a)
		if x == nil || y == nil {
			return Different
		}
		return j.inOrder(x, y)
	}
	if len(g.Args) != len(a.Args) {
		return Different
	}
	result := Equal
	for i := range g.Args {
		result = min(result, j.inOrder(g.Args[i].Args, a.Args[i].Args))
	}
	return result
}

// vector is the elements of a row, a column or a tuple; nil for another shape.
func vector(n *syntax.Node) []*syntax.Node {
	switch {
	case n.Kind == syntax.Tuple || n.Kind == syntax.List:
		return n.Args
	case n.Kind == syntax.Matrix && len(n.Args) == 1:
		return n.Args[0].Args
	case n.Kind == syntax.Matrix:
		var column []*syntax.Node
		for _, row := range n.Args {
			if len(row.Args) != 1 {
				return nil
			}
			column = append(column, row.Args[0])
		}
		return column
	}
	return nil
}

// mostElements bounds the matrices that are multiplied.
const mostElements = 256

// matrix computes sums and products of matrices; nil if the shapes do not fit.
func matrix(n *syntax.Node) *syntax.Node {
	if n.Kind != syntax.Sum && n.Kind != syntax.Product || !hasMatrix(n) {
		return n
	}
	var out *syntax.Node
	for _, a := range n.Args {
		a = matrix(a)
		switch {
		case a == nil:
			return nil
		case out == nil:
			out = a
		case n.Kind == syntax.Sum:
			out = plus(out, a)
		default:
			out = times(out, a)
		}
		if out == nil {
			return nil
		}
	}
	return out
}

func plus(a, b *syntax.Node) *syntax.Node {
	if a.Kind != syntax.Matrix || b.Kind != syntax.Matrix || len(a.Args) != len(b.Args) {
		return nil
	}
	out := &syntax.Node{Kind: syntax.Matrix}
	for i := range a.Args {
		if len(a.Args[i].Args) != len(b.Args[i].Args) {
			return nil
		}
		row := &syntax.Node{Kind: syntax.Tuple}
		for k := range a.Args[i].Args {
			row.Args = append(row.Args, syntax.Plus(a.Args[i].Args[k], b.Args[i].Args[k]))
		}
		out.Args = append(out.Args, row)
	}
	return out
}

func times(a, b *syntax.Node) *syntax.Node {
	switch {
	case a.Kind != syntax.Matrix && b.Kind != syntax.Matrix:
		return syntax.Times(a, b)
	case a.Kind != syntax.Matrix:
		return scale(a, b)
	case b.Kind != syntax.Matrix:
		return scale(b, a)
	}
	if len(a.Args)*len(b.Args) > mostElements || len(a.Args) == 0 || len(b.Args) == 0 || len(a.Args[0].Args) != len(b.Args) {
		return nil
	}
	out := &syntax.Node{Kind: syntax.Matrix}
	for _, r := range a.Args {
		row := &syntax.Node{Kind: syntax.Tuple}
		for k := range b.Args[0].Args {
			sum := syntax.Int(0)
			for i := range b.Args {
				if i >= len(r.Args) || k >= len(b.Args[i].Args) {
					return nil
				}
				sum = syntax.Plus(sum, syntax.Times(r.Args[i], b.Args[i].Args[k]))
			}
			row.Args = append(row.Args, sum)
		}
		out.Args = append(out.Args, row)
	}
	return out
}

func scale(s, m *syntax.Node) *syntax.Node {
	out := &syntax.Node{Kind: syntax.Matrix}
	for _, r := range m.Args {
		row := &syntax.Node{Kind: syntax.Tuple}
		for _, e := range r.Args {
			row.Args = append(row.Args, syntax.Times(s, e))
		}
		out.Args = append(out.Args, row)
	}
	return out
}
