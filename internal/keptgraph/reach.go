package keptgraph

import (
	"cmp"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
)

// group is the part of a batch that one group has.
type group struct {
	start key
	steps []step // trajectory by trajectory
}

// step is a row as an edge to the next state, which the following step saw. The last step of a
// trajectory leads to a success unless it is lost.
type step struct {
	row        int32
	from       key
	last, lost bool
}

// groups returns the groups of a batch that have scored steps, in order of first appearance.
func (g *Graph) groups(rows *advantage.Rows, of []int32) (all []*group) {
	order := ordered(rows, of)
	named := names(rows, order)
	numbers := map[int32]*group{}
	for at, i := range order {
		if rows.Scored != nil && !rows.Scored[i] {
			continue
		}
		b := numbers[rows.Group[i]]
		if b == nil {
			b = &group{start: named[at]}
			numbers[rows.Group[i]] = b
			all = append(all, b)
		}
		if rows.BranchOf != nil && rows.BranchOf[i] >= 0 && rows.Step[i] < rows.BranchAt[i] {
			continue // a copy of another step
		}
		t := step{row: i, from: named[at], last: at+1 == len(order) || rows.Trajectory[order[at+1]] != rows.Trajectory[i]}
		t.lost = t.last && !rows.Succeeded(int(i), g.success)
		b.steps = append(b.steps, t)
	}
	return all
}

// names returns the keys of the states that the rows in order saw.
func names(rows *advantage.Rows, order []int32) []key {
	known, out := map[string]key{}, make([]key, len(order))
	for at, i := range order {
		k, ok := known[rows.Anchor[i]]
		if !ok {
			k = keyOf(rows.Anchor[i])
			known[rows.Anchor[i]] = k
		}
		out[at] = k
	}
	return out
}

// ordered returns the rows trajectory by trajectory and step by step.
func ordered(rows *advantage.Rows, of []int32) []int32 {
	order := slices.Clone(of)
	if of == nil {
		order = make([]int32, rows.Len())
		for i := range order {
			order[i] = int32(i)
		}
	}
	before := func(a, b int32) int {
		return cmp.Or(cmp.Compare(rows.Trajectory[a], rows.Trajectory[b]), cmp.Compare(rows.Step[a], rows.Step[b]))
	}
	if !slices.IsSortedFunc(order, before) {
		slices.SortFunc(order, before)
	}
	return order
}

// union is the graph of a start together with the steps of a group. Node 0 is a success.
type union struct {
	*start
	extra  map[key]int32 // nodes that only the group has
	edges  []edge        // of the group, then the kept ones
	own    int           // number of edges of the group
	first  []int32       // by node: the first row that saw it; −1 = none did
	parent []int32       // by node: the first edge of the shortest way to a success; −1 = no way
}

// reach writes the stretches for the rows of a group.
func (s *start) reach(b *group, rows *advantage.Rows) {
	u := &union{start: s, extra: map[key]int32{}}
	nodes := make([]int32, len(b.steps))
	for k, t := range b.steps {
		nodes[k] = u.node(t.from)
	}
	for k, t := range b.steps {
		switch {
		case !t.last:
			u.edges = append(u.edges, edge{nodes[k], nodes[k+1]})
		case !t.lost:
			u.edges = append(u.edges, edge{nodes[k], 0})
		}
	}
	u.own = len(u.edges)
	u.edges = append(u.edges, s.sorted()...)
	u.search()
	u.first = slices.Repeat([]int32{-1}, len(u.parent))
	for k, t := range b.steps {
		if u.first[nodes[k]] < 0 {
			u.first[nodes[k]] = t.row
		}
	}
	for k, t := range b.steps {
		rows.KeptSteps[t.row], rows.KeptTo[t.row] = u.stretch(nodes[k])
	}
}

// node returns the number of a state.
func (u *union) node(k key) int32 {
	if n, ok := u.number[k]; ok {
		return n
	}
	n, ok := u.extra[k]
	if !ok {
		n = int32(len(u.nodes) + len(u.extra) + 1)
		u.extra[k] = n
	}
	return n
}

// search finds the shortest ways by breadth-first search, backwards from the success. Of two
// equal ways it prefers the edges of the group.
func (u *union) search() {
	n := len(u.nodes) + len(u.extra) + 1
	begin := make([]int32, n+1)
	for _, e := range u.edges {
		begin[e.to+1]++
	}
	for v := range n {
		begin[v+1] += begin[v]
	}
	into, fill := make([]int32, len(u.edges)), slices.Clone(begin)
	for i, e := range u.edges {
		into[fill[e.to]] = int32(i)
		fill[e.to]++
	}
	u.parent = slices.Repeat([]int32{-1}, n)
	queue := []int32{0}
	for at := 0; at < len(queue); at++ {
		v := queue[at]
		for _, i := range into[begin[v]:begin[v+1]] {
			if from := u.edges[i].from; u.parent[from] < 0 {
				u.parent[from] = i
				queue = append(queue, from)
			}
		}
	}
}

// stretch returns how many kept edges lead from a node to the next state of the group on its
// shortest way, and the first row that saw that state, −1 for a success. It returns 0 if the
// way begins with an edge of the group, or if there is none.
func (u *union) stretch(n int32) (steps, to int32) {
	if u.parent[n] < int32(u.own) {
		return 0, 0
	}
	for n != 0 && (steps == 0 || u.first[n] < 0) {
		n = u.edges[u.parent[n]].to
		steps++
	}
	if n == 0 {
		return steps, -1
	}
	return steps, u.first[n]
}
