// Package keptgraph keeps the state-transition graph of each start over the updates of a run,
// for the estimator tigpo: steps that earlier policies took connect the states of a batch with
// a success. Only connections are kept, no actions and no scores.
//
// Groups that begin in the same state share a graph. States are equal if their anchors are.
package keptgraph

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
)

// key names a state: the beginning of the SHA-256 of its anchor.
type key [16]byte

func keyOf(anchor string) (k key) {
	sum := sha256.Sum256([]byte(anchor))
	copy(k[:], sum[:])
	return k
}

// Graph is what is kept. Its edges are at most as many as New allows. It is not safe for
// concurrent use.
type Graph struct {
	most    int
	success float64 // the score above which a trajectory succeeded
	update  uint32  // of the last Add, from 1
	edges   int
	starts  map[key]*start
}

// start is the graph of one start. Node 0 is a success.
type start struct {
	nodes  []key // of node i+1
	number map[key]int32
	seen   map[edge]uint32 // the last update that took the edge
	order  []edge          // see sorted; nil = not sorted yet
}

type edge struct{ from, to int32 }

// New returns an empty graph of at most most edges, or nil for estimators that keep none.
func New(cfg advantage.Config) *Graph {
	if cfg.Estimator != "tigpo" {
		return nil
	}
	return &Graph{most: cfg.KeptEdges, success: cfg.SuccessScore, starts: map[key]*start{}}
}

// Counts describe the graph at an update.
type Counts struct {
	Edges     int // kept
	Starts    int // with a graph
	Revisited int // groups of the batch whose start had one
}

// Reach writes into rows the stretches of the kept graph that bring states nearer to a success
// than the steps of their own group do (Rows.KeptSteps and Rows.KeptTo). Of names the rows of the
// batch, whole groups; nil = all rows. A nil graph does nothing.
func (g *Graph) Reach(rows *advantage.Rows, of []int32) Counts {
	if g == nil || rows.Anchor == nil {
		return Counts{}
	}
	if rows.KeptSteps == nil {
		rows.KeptSteps, rows.KeptTo = make([]int32, rows.Len()), make([]int32, rows.Len())
	}
	counts := Counts{Edges: g.edges, Starts: len(g.starts)}
	for _, b := range g.groups(rows, of) {
		s := g.starts[b.start]
		if s == nil {
			for _, t := range b.steps {
				rows.KeptSteps[t.row], rows.KeptTo[t.row] = 0, 0
			}
			continue
		}
		counts.Revisited++
		s.reach(b, rows)
	}
	return counts
}

// Add adds the steps of a batch as one update, and forgets: while there are more edges than
// allowed, those that no later update took again leave, the oldest update first and whole. Of
// one update, the first edges are kept. It returns how many edges left.
func (g *Graph) Add(rows *advantage.Rows, of []int32) (forgotten int) {
	if g == nil || rows.Anchor == nil || g.most == 0 {
		return 0
	}
	g.update++
	left := g.most
	for _, b := range g.groups(rows, of) {
		s := g.starts[b.start]
		if s == nil {
			s = &start{number: map[key]int32{}, seen: map[edge]uint32{}}
		}
		before := len(s.seen)
		left = s.add(b.steps, g.update, left)
		if g.edges += len(s.seen) - before; len(s.seen) > 0 {
			g.starts[b.start] = s
		}
	}
	return g.forget()
}

// add adds the steps of a group until they are left different edges, and returns how many are
// left then.
func (s *start) add(steps []step, update uint32, left int) int {
	for k, t := range steps {
		if left == 0 {
			break
		}
		e := edge{}
		switch {
		case t.lost:
			continue
		case t.last:
			e.from = s.node(t.from)
		default:
			e.from, e.to = s.node(t.from), s.node(steps[k+1].from)
		}
		at, known := s.seen[e]
		if !known {
			s.order = nil
		}
		if at != update {
			s.seen[e] = update
			left--
		}
	}
	return left
}

// node returns the number of a state.
func (s *start) node(k key) int32 {
	n, ok := s.number[k]
	if !ok {
		s.nodes = append(s.nodes, k)
		n = int32(len(s.nodes))
		s.number[k] = n
	}
	return n
}

// forget removes the oldest edges until at most g.most are left.
func (g *Graph) forget() int {
	if g.edges <= g.most {
		return 0
	}
	counts := map[uint32]int{}
	for _, s := range g.starts {
		for _, at := range s.seen {
			counts[at]++
		}
	}
	updates := slices.Sorted(maps.Keys(counts))
	i := len(updates) - 1
	kept := counts[updates[i]]
	for i > 0 && kept+counts[updates[i-1]] <= g.most {
		i--
		kept += counts[updates[i]]
	}
	oldest := updates[i]
	forgotten := g.edges - kept
	for name, s := range g.starts {
		if s = s.since(oldest); s == nil {
			delete(g.starts, name)
		} else {
			g.starts[name] = s
		}
	}
	g.edges = kept
	return forgotten
}

// since returns the part of s that update oldest or a later one took, or nil if there is none.
func (s *start) since(oldest uint32) *start {
	out := &start{number: map[key]int32{}, seen: map[edge]uint32{}}
	name := func(n int32) int32 {
		if n == 0 {
			return 0
		}
		return out.node(s.nodes[n-1])
	}
	for _, e := range s.sorted() {
		if at := s.seen[e]; at >= oldest {
			out.seen[edge{name(e.from), name(e.to)}] = at
		}
	}
	if len(out.seen) == 0 {
		return nil
	}
	return out
}

// sorted returns the edges by where they lead.
func (s *start) sorted() []edge {
	if s.order == nil {
		s.order = slices.SortedFunc(maps.Keys(s.seen), func(a, b edge) int {
			return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
		})
	}
	return s.order
}
