package advantage

// graph is the state-transition graph of a batch. Its nodes are the anchor groups and, for
// each group of trajectories, a success behind the last step of every trajectory that
// succeeded. Its edges are the steps. Buffers are kept between batches.
type graph struct {
	start []int32 // the edges into node v are from[start[v]:start[v+1]]
	from  []int32
	dist  []int32   // by node: steps to the group's success; 0 = it cannot be reached
	near  [][]int32 // by distance, from 1: the nodes to visit
	kept  []stretch // of the batch, a list for each node that they lead to
	last  []int32   // by node: one more than the last of its list
	far   []int32   // by group: the largest distance of a node
	power []float64
}

// stretch is kept steps from a node.
type stretch struct{ from, steps, before int32 } // before is one more than the stretch before it in its list

// distanceScale is the R of graphgpo. A_S is standardized, so it only sets how small a
// difference is beside epsilon.
const distanceScale = 10

// graphGPO computes graphgpo and tigpo. It compares the steps that leave a state by how near they lead to a success:
//
//	q = 10 ω_d^d(s′)  or  10 ω_d^(d(s′) − d(s) + 1),  ω_d = distance_decay
//	A_S = (q − mean) / (std + ε) among the steps from s,  A = A_E + ω A_S
//
// The distance d counts steps along the edges that any member of the group took; a state
// without a way to a success is one step further than the furthest with one. A step that is
// alone in its state gets A_S = 0, as do all steps of a group without a success.
//
// The rows hold no state after the last step of a trajectory that failed. It counts as a
// state without a way to a success.
//
// With tigpo, d also counts the kept steps of earlier updates: see Rows.KeptSteps. A state
// without a way is one step further than the furthest state of the group with one.
//
// Sources: arXiv 2605.26684; both exponents: its reference implementation (normalize_distance).
// tigpo: the kept graph of arXiv 2609.03383, whose text could only be read in abstracts.
func graphGPO(cfg Config, rows *Rows, d *Result) {
	s, g := &d.scratch, &d.scratch.graph
	d.Next, d.Distance = zeroed(d.Next, rows.Len()), zeroed(d.Distance, rows.Len())
	won := func(row int32) bool { return rows.Succeeded(int(row), cfg.SuccessScore) }
	g.build(s, d.AnchorGroup, won)
	if cfg.Estimator == "tigpo" {
		g.keep(s, d.AnchorGroup, rows)
	}
	g.search(s, d.AnchorGroup)
	g.power = append(g.power[:0], 1)
	s.edges(d.AnchorGroup, func(i, u, v int32) {
		d.Distance[i] = g.after(v, s.member[i], won(i))
		exponent := d.Distance[i]
		if cfg.Distance == distanceProgress {
			exponent += 1 - g.of(u, s.member[i])
		}
		d.Next[i] = distanceScale * g.decay(cfg.DistanceDecay, int(exponent))
	})
	d.episode(cfg)
	std := Norm{Normalization: MeanStdNorm, Epsilon: cfg.Epsilon, Singleton: SingletonZero}
	relative(d.Step, d.Next, d.AnchorGroup, nil, std, &s.moments)
	Combine(d.Advantage, d.Episode, d.Step, cfg.Combine, cfg.Omega)
}

// build finds the edges into each node, and the nodes in front of a success.
func (g *graph) build(s *scratch, node []int32, won func(row int32) bool) {
	nodes := int(width(node))
	g.start, g.from = zeroed(g.start, nodes+1), resized(g.from, len(node))
	g.dist, g.last, g.kept = zeroed(g.dist, nodes), zeroed(g.last, nodes), g.kept[:0]
	for d := range g.near {
		g.near[d] = g.near[d][:0]
	}
	s.edges(node, func(i, u, v int32) {
		switch {
		case v >= 0:
			g.start[v+1]++
		case won(i):
			g.reach(u, 1)
		}
	})
	for v := range nodes {
		g.start[v+1] += g.start[v]
	}
	fill := append(s.level[0][:0], g.start[:nodes]...)
	s.edges(node, func(_, u, v int32) {
		if v >= 0 {
			g.from[fill[v]] = u
			fill[v]++
		}
	})
}

// keep adds the kept steps of a batch.
func (g *graph) keep(s *scratch, node []int32, rows *Rows) {
	for i, steps := range rows.KeptSteps {
		if steps == 0 || s.member[i] < 0 {
			continue
		}
		to := rows.KeptTo[i]
		if to < 0 {
			g.reach(node[i], steps)
			continue
		}
		v := node[s.branches.own(to)]
		if v < 0 {
			continue // a copy of a member without a score
		}
		g.kept = append(g.kept, stretch{node[i], steps, g.last[v]})
		g.last[v] = int32(len(g.kept))
	}
}

// maxDistance is how far a search goes: the distance decays to 0 long before.
const maxDistance = 1 << 16

// reach says that a node is at most d steps from a success.
func (g *graph) reach(u, d int32) {
	if g.dist[u] > 0 && g.dist[u] <= d || d > maxDistance {
		return
	}
	g.dist[u] = d
	for len(g.near) <= int(d) {
		g.near = append(g.near, nil)
	}
	g.near[d] = append(g.near[d], u)
}

// edges calls each with the row, the node and the next node of every scored step, trajectory
// by trajectory; the next node is −1 after the last step of a trajectory.
func (s *scratch) edges(node []int32, each func(row, from, to int32)) {
	for k, i := range s.order.rows {
		if s.member[i] < 0 {
			continue
		}
		next := int32(-1)
		if !s.order.end[k] {
			next = node[s.order.rows[k+1]]
		}
		each(i, node[i], next)
	}
}

// search finds the distance of every node backwards from all successes at once, nearest nodes
// first, and the largest distance of each group.
func (g *graph) search(s *scratch, node []int32) {
	for d := int32(1); int(d) < len(g.near); d++ {
		for at := 0; at < len(g.near[d]); at++ {
			v := g.near[d][at]
			if g.dist[v] < d {
				continue // a nearer way was found
			}
			for _, u := range g.from[g.start[v]:g.start[v+1]] {
				g.reach(u, d+1)
			}
			for k := g.last[v]; k > 0; k = g.kept[k-1].before {
				g.reach(g.kept[k-1].from, d+g.kept[k-1].steps)
			}
		}
	}
	g.far = zeroed(g.far, int(width(s.member)))
	for i, m := range s.member {
		if m >= 0 {
			g.far[m] = max(g.far[m], g.dist[node[i]])
		}
	}
}

// of returns the distance of a node in a group.
func (g *graph) of(node, group int32) int32 {
	if g.dist[node] == 0 {
		return g.far[group] + 1
	}
	return g.dist[node]
}

// after returns the distance after a step to node; −1 is behind the last step.
func (g *graph) after(node, group int32, won bool) int32 {
	switch {
	case node >= 0:
		return g.of(node, group)
	case won:
		return 0
	}
	return g.far[group] + 1
}

// decay returns x to the power n, the same on every CPU.
func (g *graph) decay(x float64, n int) float64 {
	for len(g.power) <= n {
		g.power = append(g.power, g.power[len(g.power)-1]*x)
	}
	return g.power[n]
}

// Succeeded reports whether row i, the last of its trajectory, ends it with a success: its score
// is above least, and it was not truncated.
func (r *Rows) Succeeded(i int, least float64) bool {
	truncated := r.Truncated != nil && r.Truncated[i] && (r.Terminated == nil || !r.Terminated[i])
	return r.Score[i] > least && !truncated
}
