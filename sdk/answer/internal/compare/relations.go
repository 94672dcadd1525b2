package compare

import (
	"github.com/merit-rl/merit/sdk/answer/internal/numeric"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// relations compares two relations: equations by what they state about the same
// variables, inequalities also as sets.
func (j *Judge) relations(g, a *syntax.Node) Result {
	if equation(g) && equation(a) {
		return j.equations(g, a)
	}
	if equation(g) != equation(a) {
		if region(g) || region(a) {
			if r, ok := j.regions(g, a); ok && oneVariable(g, a) {
				return r
			}
		}
		return Different
	}
	if oneVariable(g, a) {
		if r, ok := j.regions(g, a); ok {
			return r
		}
	}
	return j.chains(g, a)
}

// oneVariable tells that both relations are about the same single variable.
func oneVariable(g, a *syntax.Node) bool {
	x, y := map[string]bool{}, map[string]bool{}
	symbols(g, x)
	symbols(a, y)
	if len(x) != 1 || len(y) != 1 {
		return false
	}
	for s := range x {
		return y[s]
	}
	return false
}

func symbols(n *syntax.Node, set map[string]bool) {
	if n.Kind == syntax.Symbol {
		set[n.Name] = true
	}
	for _, a := range n.Args {
		symbols(a, set)
	}
}

// equations compares x = a with x = b by a and b, others by l - r up to a factor.
func (j *Judge) equations(g, a *syntax.Node) Result {
	gl, gr := g.Args[0], g.Args[len(g.Args)-1]
	al, ar := a.Args[0], a.Args[len(a.Args)-1]
	if j.Compare(gl, al) == Equal {
		return j.Compare(gr, ar)
	}
	if collection(gr) || collection(ar) || collection(gl) || collection(al) || hasMatrix(gr) || hasMatrix(ar) {
		if assignment(g) && assignment(a) {
			return j.Compare(gr, ar)
		}
		return Different
	}
	if !scalar(gl) || !scalar(gr) || !scalar(al) || !scalar(ar) {
		return Different
	}
	r := j.scaled(syntax.Minus(gl, gr), syntax.Minus(al, ar), syntax.EQ)
	if r == Unknown && assignment(g) && assignment(a) && j.Compare(gr, ar) == Different {
		return Different
	}
	return r
}

// scaled tells whether f op 0 is h op 0 times a constant.
func (j *Judge) scaled(f, h *syntax.Node, op syntax.Op) Result {
	r, positive := numeric.ModularScaled(f, h, &j.steps)
	if r == numeric.Same && (positive || op == syntax.EQ || op == syntax.NE) {
		return j.by("modular", numeric.ModularBound)
	}
	if r == numeric.Unknown {
		r, positive = numeric.Proportional(f, h, &j.steps)
	}
	switch {
	case r == numeric.Unknown:
		return j.unknown("no value of the relations could be computed")
	case r == numeric.Same && (positive || op == syntax.EQ || op == syntax.NE):
		return j.by("numeric", numeric.Bound)
	}
	return Different
}

// chains compares inequalities one by one, in the order of a chain or against it.
func (j *Judge) chains(g, a *syntax.Node) Result {
	if len(g.Ops) != len(a.Ops) {
		return Different
	}
	return max(j.chain(g, a), j.chain(g, reversed(a)))
}

func reversed(n *syntax.Node) *syntax.Node {
	m := *n
	m.Args, m.Ops = nil, nil
	for i := len(n.Args) - 1; i >= 0; i-- {
		m.Args = append(m.Args, n.Args[i])
	}
	for i := len(n.Ops) - 1; i >= 0; i-- {
		m.Ops = append(m.Ops, flipped(n.Ops[i]))
	}
	return &m
}

func (j *Judge) chain(g, a *syntax.Node) Result {
	result := Equal
	for i, op := range g.Ops {
		f := syntax.Minus(g.Args[i], g.Args[i+1])
		h := syntax.Minus(a.Args[i], a.Args[i+1])
		other := a.Ops[i]
		if other != op && flipped(other) == op {
			h, other = syntax.Neg(h), op
		}
		if other != op || collection(g.Args[i]) || collection(a.Args[i]) {
			return Different
		}
		result = min(result, j.scaled(f, h, op))
	}
	return result
}
