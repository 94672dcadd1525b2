package compare

import "github.com/merit-rl/merit/sdk/answer/internal/syntax"

// families are the sets of an integer parameter with the same name of it on both sides:
// \{2k\pi : k \in \mathbb{Z}\} and x = 2n\pi, n \in \mathbb{Z}.
func families(g, a *syntax.Node) (*syntax.Node, *syntax.Node) {
	x, y := family(g), family(a)
	if x == nil || y == nil {
		return g, a
	}
	p, q := x.Args[1].Args[0], y.Args[1].Args[0]
	if p.Name != q.Name && occurrences(y, p.Name) == 0 {
		y = rename(y, q.Name, p)
	}
	return x, y
}

// family is a set with one condition, that a variable is in a set with a name, or nil.
func family(n *syntax.Node) *syntax.Node {
	if n.Kind != syntax.Such && n.Kind != syntax.List || len(n.Args) != 2 {
		return nil
	}
	value, in := n.Args[0], n.Args[1]
	if in.Kind != syntax.Relation || in.Ops[0] != syntax.In || in.Args[0].Kind != syntax.Symbol || in.Args[1].Kind != syntax.SetName {
		return nil
	}
	if assignment(value) {
		value = value.Args[len(value.Args)-1]
	}
	if value.Kind == syntax.Relation {
		return nil
	}
	return &syntax.Node{Kind: syntax.Such, Args: []*syntax.Node{value, in}}
}

// rename puts a node for a variable, and changes nothing else.
func rename(n *syntax.Node, name string, v *syntax.Node) *syntax.Node {
	if n.Kind == syntax.Symbol && n.Name == name {
		return v
	}
	if len(n.Args) == 0 {
		return n
	}
	m := *n
	m.Text = ""
	m.Args = make([]*syntax.Node, len(n.Args))
	for i, a := range n.Args {
		m.Args[i] = rename(a, name, v)
	}
	return &m
}

// periodic renames the whole number in a general solution of a trigonometric equation,
// \frac{\pi}{4} + n\pi, to that of g.
func periodic(g, a *syntax.Node) *syntax.Node {
	p, q := counter(g), counter(a)
	if p == nil || q == nil || p.Name == q.Name {
		return a
	}
	return rename(a, q.Name, p)
}

// counter is the only variable of an expression with π, if its name is one of a whole
// number; else nil.
func counter(n *syntax.Node) *syntax.Node {
	names := map[string]bool{}
	symbols(n, names)
	if len(names) != 1 || !hasPi(n) {
		return nil
	}
	for name := range names {
		if name == "n" || name == "k" || name == "m" {
			return &syntax.Node{Kind: syntax.Symbol, Name: name}
		}
	}
	return nil
}

func hasPi(n *syntax.Node) bool {
	if n.Kind == syntax.Constant && n.Name == "pi" {
		return true
	}
	for _, a := range n.Args {
		if hasPi(a) {
			return true
		}
	}
	return false
}
