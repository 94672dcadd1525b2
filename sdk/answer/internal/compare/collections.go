package compare

import (
	"math"
	"sort"

	"github.com/merit-rl/merit/sdk/answer/internal/numeric"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

func collection(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.List, syntax.Set, syntax.Tuple, syntax.Interval, syntax.Union, syntax.Intersection, syntax.Without, syntax.SetName, syntax.Such:
		return true
	}
	return plusMinus(n)
}

// set tells that a node is a set that elements does not take apart.
func set(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Interval, syntax.Union, syntax.Intersection, syntax.Without, syntax.SetName, syntax.Such:
		return true
	}
	return false
}

// plusMinus tells that ± is in an expression.
func plusMinus(n *syntax.Node) bool {
	if is(n, "pm") || is(n, "mp") {
		return true
	}
	switch n.Kind {
	case syntax.Sum, syntax.Product, syntax.Power, syntax.Call, syntax.Relation:
		for _, a := range n.Args {
			if plusMinus(a) {
				return true
			}
		}
	}
	return false
}

// spread is an expression with ± as its two values.
func spread(n *syntax.Node) []*syntax.Node {
	if !plusMinus(n) {
		return []*syntax.Node{n}
	}
	return []*syntax.Node{signed(n, 1), signed(n, -1)}
}

func signed(n *syntax.Node, sign int64) *syntax.Node {
	if is(n, "pm") || is(n, "mp") {
		s := sign
		if n.Name == "mp" {
			s = -s
		}
		left, right := signed(n.Args[0], sign), signed(n.Args[1], sign)
		if s < 0 {
			right = syntax.Neg(right)
		}
		if left.Kind == syntax.Number && left.Num.Sign() == 0 {
			return right
		}
		return syntax.Plus(left, right)
	}
	if !plusMinus(n) {
		return n
	}
	m := *n
	m.Text = ""
	m.Args = make([]*syntax.Node, len(n.Args))
	for i, a := range n.Args {
		m.Args[i] = signed(a, sign)
	}
	return &m
}

// elements are the members of a list, set or tuple, or the one value.
func elements(n *syntax.Node) []*syntax.Node {
	switch n.Kind {
	case syntax.List, syntax.Set, syntax.Tuple:
	case syntax.SetName:
		if n.Name == "empty" {
			return nil
		}
		return []*syntax.Node{n}
	default:
		return spread(n)
	}
	all := make([]*syntax.Node, 0, len(n.Args))
	for i, a := range n.Args {
		if i == 0 && len(n.Args) > 1 && assignment(a) && n.Kind != syntax.Tuple && !anyRelation(n.Args[1:]) {
			a = a.Args[len(a.Args)-1] // n = 1, 2, 3
		}
		if n.Kind != syntax.Tuple && (a.Kind == syntax.Set || a.Kind == syntax.List) && len(n.Args) == 1 {
			return elements(a)
		}
		all = append(all, spread(a)...)
	}
	return all
}

func anyRelation(nodes []*syntax.Node) bool {
	for _, n := range nodes {
		if n.Kind == syntax.Relation {
			return true
		}
	}
	return false
}

// collections compares sets, tuples, lists, intervals. A tuple has an order if the
// gold is one; a list of the answer then is read as written.
func (j *Judge) collections(g, a *syntax.Node) Result {
	g, a = families(g, a)
	g, a = j.integers(g), j.integers(a)
	if region(g) || region(a) {
		if r, ok := j.regions(g, a); ok {
			return r
		}
	}
	if (g.Kind == syntax.Set || g.Kind == syntax.List) && len(g.Args) == 1 && collection(g.Args[0]) {
		return j.Compare(g.Args[0], a)
	}
	if (a.Kind == syntax.Set || a.Kind == syntax.List) && len(a.Args) == 1 && collection(a.Args[0]) {
		return j.Compare(g, a.Args[0])
	}
	if g.Kind == syntax.Tuple && (a.Kind == syntax.Tuple || a.Kind == syntax.List || a.Kind == syntax.Set || a.Kind == syntax.Interval) {
		return j.inOrder(elements(g), elements(a))
	}
	if g.Kind == syntax.SetName || a.Kind == syntax.SetName {
		if setOf(g) != "" && setOf(g) == setOf(a) {
			return Equal
		}
		return Different
	}
	if g.Kind == syntax.Such && a.Kind == syntax.Such && len(g.Args) == len(a.Args) {
		return j.inOrder(g.Args, a.Args)
	}
	if named(g) && !anyRelation(a.Args) && len(g.Args) == len(a.Args) && a.Kind != syntax.Set {
		return j.inOrder(g.Args, a.Args)
	}
	return j.anyOrder(elements(g), elements(a))
}

// named tells that a list gives values to different names: x = 1, y = 4.
func named(n *syntax.Node) bool {
	if n.Kind != syntax.List || len(n.Args) < 2 {
		return false
	}
	seen := map[string]bool{}
	for _, a := range n.Args {
		if !assignment(a) || a.Args[0].Kind != syntax.Symbol || seen[a.Args[0].Name] {
			return false
		}
		seen[a.Args[0].Name] = true
	}
	return true
}

// mostIntegers bounds the sets of integers that are written out.
const mostIntegers = 200

// integers is a bounded set of integers by a condition with its elements written out,
// or n.
func (j *Judge) integers(n *syntax.Node) *syntax.Node {
	if n.Kind != syntax.Such || len(n.Args) < 2 || n.Args[0].Kind != syntax.Relation || n.Args[0].Ops[0] != syntax.In {
		return n
	}
	name := n.Args[0].Args[1].Name
	if name != "Z" && name != "N" {
		return n
	}
	pieces, ok := j.each(n.Args[1:], true)
	if !ok {
		return n
	}
	set := &syntax.Node{Kind: syntax.Set}
	for _, p := range pieces { // NaN where both ends are infinite
		if !(p.h-p.l <= mostIntegers) || math.Abs(p.l) > 1<<40 {
			return n
		}
		for v := math.Ceil(p.l); v <= p.h; v++ {
			if !(v == p.l && p.openLo || v == p.h && p.openHi) {
				set.Args = append(set.Args, syntax.Int(int64(v)))
			}
		}
	}
	return set
}

func (j *Judge) inOrder(g, a []*syntax.Node) Result {
	if len(g) != len(a) {
		return Different
	}
	result := Equal
	for i := range g {
		result = min(result, j.Compare(g[i], a[i]))
		if result == Different {
			break
		}
	}
	return result
}

// mostPairs bounds the comparisons of two sets.
const mostPairs = 4096

// anyOrder tells whether every element of each side has an equal one on the other.
func (j *Judge) anyOrder(g, a []*syntax.Node) Result {
	if len(g) == 1 && len(a) == 1 {
		if set(g[0]) || set(a[0]) {
			return Different
		}
		return j.Compare(g[0], a[0])
	}
	if len(g) == 0 || len(a) == 0 {
		if len(g) == len(a) {
			return Equal
		}
		return Different
	}
	if len(g)*len(a) > mostPairs {
		return j.unknown("the sets are too large")
	}
	j.sort(g)
	j.sort(a)
	if len(g) == len(a) {
		if r := j.inOrder(g, a); r == Equal {
			return r
		}
	}
	used := make([]bool, len(a))
	result := Equal
	for _, x := range g {
		result = min(result, j.member(x, a, used))
		if result == Different {
			return result
		}
	}
	for i, y := range a {
		if !used[i] {
			result = min(result, j.member(y, g, nil))
		}
	}
	return result
}

// member tells whether x is in the set, and marks what it equals.
func (j *Judge) member(x *syntax.Node, others []*syntax.Node, used []bool) Result {
	result := Different
	for i, y := range others {
		if used != nil && used[i] {
			continue
		}
		r := j.Compare(x, y)
		if r == Equal {
			if used != nil {
				used[i] = true
			}
			return Equal
		}
		result = max(result, r)
	}
	if used != nil { // an element written twice
		for i, y := range others {
			if used[i] && j.Compare(x, y) == Equal {
				return Equal
			}
		}
	}
	return result
}

// sort orders numbers by value, so that most sets compare in one pass.
func (j *Judge) sort(nodes []*syntax.Node) {
	values := make([]float64, len(nodes))
	for i, n := range nodes {
		v, ok := numeric.Value(last(n), &j.steps)
		if !ok {
			return
		}
		values[i] = v
	}
	sort.Stable(byValue{nodes, values})
}

func last(n *syntax.Node) *syntax.Node {
	if n.Kind == syntax.Relation {
		return n.Args[len(n.Args)-1]
	}
	return n
}

type byValue struct {
	nodes  []*syntax.Node
	values []float64
}

func (b byValue) Len() int           { return len(b.nodes) }
func (b byValue) Less(i, k int) bool { return b.values[i] < b.values[k] }
func (b byValue) Swap(i, k int) {
	b.nodes[i], b.nodes[k] = b.nodes[k], b.nodes[i]
	b.values[i], b.values[k] = b.values[k], b.values[i]
}
