package advantage

import "fmt"

// branches is the tree that a batch with Rows.BranchOf is. A row before the first own step of its
// trajectory is a copy: its owner is the row of another trajectory that it copies. Several rows
// that leave one state of the tree are its continuations: the owner's own row, which stands for
// the state, and the first own rows of the branches there. Without branches, all slices are empty
// and every row owns itself.
type branches struct {
	any   bool
	owner []int32 // by row
	state []int32 // by row: the row that stands for the state it left
	from  []int32 // by trajectory: the first own step
	up    []int32 // trajectories, each before its branches

	beside []int32   // by state: branches with a score
	origin []float64 // by state: what the first of them added
	sum    []float64 // by state: of the differences from origin
}

// build finds the tree, or returns the first row that does not fit into one.
func (b *branches) build(r *Rows, o *order) error {
	b.any = r.BranchOf != nil && r.Len() > 0
	b.owner, b.state, b.from, b.up = b.owner[:0], b.state[:0], b.from[:0], b.up[:0]
	if !b.any {
		return nil
	}
	for i, t := range r.Trajectory {
		if first := o.rows[o.start[t]]; r.BranchOf[i] != r.BranchOf[first] || r.BranchAt[i] != r.BranchAt[first] {
			return &RowError{i, fmt.Sprintf("trajectory %d branches off %d at step %d here, but off %d at step %d in its first row", t, r.BranchOf[i], r.BranchAt[i], r.BranchOf[first], r.BranchAt[first])}
		}
	}
	if err := b.sort(r, o); err != nil {
		return err
	}
	n := r.Len()
	b.owner, b.state = resized(b.owner, n), resized(b.state, n)
	b.beside, b.origin, b.sum = resized(b.beside, n), resized(b.origin, n), resized(b.sum, n)
	for _, t := range b.up {
		if err := b.join(r, o, t); err != nil {
			return err
		}
	}
	return nil
}

// sort fills up and from, and checks where each trajectory branches off.
func (b *branches) sort(r *Rows, o *order) error {
	all := o.trajectories()
	b.from = zeroed(b.from, all)
	const onPath, placed = 1, 2
	is, path := make([]uint8, all), []int32(nil)
	for first := range int32(all) {
		path = path[:0]
		for t := first; t >= 0 && is[t] != placed && o.start[t] < o.start[t+1]; {
			if is[t] == onPath {
				return &RowError{int(o.rows[o.start[t]]), fmt.Sprintf("trajectory %d branches off itself, or off one of its branches", t)}
			}
			is[t], path = onPath, append(path, t)
			var err error
			if t, err = b.leaves(r, o, t); err != nil {
				return err
			}
		}
		for k := len(path) - 1; k >= 0; k-- {
			is[path[k]], b.up = placed, append(b.up, path[k])
		}
	}
	return nil
}

// leaves returns the trajectory that t branches off, or −1.
func (b *branches) leaves(r *Rows, o *order, t int32) (int32, error) {
	i := int(o.rows[o.start[t]])
	of, at := r.BranchOf[i], r.BranchAt[i]
	if of < 0 {
		return -1, nil
	}
	if int(of) >= o.trajectories() || o.start[of] == o.start[of+1] {
		return 0, &RowError{i, fmt.Sprintf("trajectory %d branches off trajectory %d, which has no rows", t, of)}
	}
	if g := r.Group[o.rows[o.start[of]]]; g != r.Group[i] {
		return 0, &RowError{i, fmt.Sprintf("trajectory %d of group %d branches off trajectory %d of group %d", t, r.Group[i], of, g)}
	}
	if own, other := o.start[t+1]-o.start[t], o.start[of+1]-o.start[of]; at < 0 || at >= own || at >= other {
		return 0, &RowError{i, fmt.Sprintf("trajectory %d branches off trajectory %d at step %d, but they have %d and %d steps", t, of, at, own, other)}
	}
	b.from[t] = at
	return of, nil
}

// join fills owner and state for the rows of t, behind those of the trajectory it left.
func (b *branches) join(r *Rows, o *order, t int32) error {
	rows := o.rows[o.start[t]:o.start[t+1]]
	of := r.BranchOf[rows[0]]
	for k, i := range rows {
		b.owner[i], b.state[i] = i, i
		if of < 0 || k > int(b.from[t]) {
			continue
		}
		other := o.rows[int(o.start[of])+k]
		b.state[i] = b.state[other]
		if r.Anchor != nil && r.Anchor[i] != r.Anchor[other] {
			return &RowError{int(i), fmt.Sprintf("trajectory %d branches off trajectory %d at step %d, but has another anchor at step %d", t, of, b.from[t], k)}
		}
		if k < int(b.from[t]) {
			b.owner[i] = b.owner[other]
		}
	}
	return nil
}

// own returns the row that owns row i: i itself, unless it is a copy.
func (b *branches) own(i int32) int32 {
	if !b.any {
		return i
	}
	return b.owner[i]
}

// copied reports whether row i is a copy.
func (b *branches) copied(i int) bool { return b.any && b.owner[i] != int32(i) }

// branched reports whether row i belongs to a branch.
func (r *Rows) branched(i int32) bool { return r.BranchOf != nil && r.BranchOf[i] >= 0 }

// begins reports whether row i is the first that its trajectory owns.
func (s *scratch) begins(rows *Rows, i int) bool {
	if !s.branches.any {
		return s.order.first[i]
	}
	return rows.Step[i] == s.branches.from[rows.Trajectory[i]]
}

// backUp writes what follows from each row into dst, from the ends of the trajectories to the
// start of the tree:
//
//	x = r + γ · mean x of the continuations of the next state,  x' = last behind the last step
//
// With share, the owner's own continuation of a state counts with share, and all others together
// with the rest. Continuations without a score do not count, and copies get 0.
//
// Shapes: dst, r, last, share [rows]; r and share may be nil. Dst is none of them.
func (s *scratch) backUp(dst, r, last, share []float64, gamma float64) {
	b, o := &s.branches, &s.order
	clear(dst)
	clear(b.sum)
	clear(b.beside)
	for n := len(b.up) - 1; n >= 0; n-- {
		t := b.up[n]
		from, next := o.start[t]+b.from[t], 0.0
		for k := o.start[t+1] - 1; k >= from; k-- {
			i := o.rows[k]
			if o.end[k] {
				next = last[i]
			}
			dst[i] = at(r, int(i)) + gamma*next
			next = b.worth(i, dst[i], share)
		}
		if i := o.rows[from]; b.state[i] != i && s.member[i] >= 0 {
			b.add(b.state[i], dst[i])
		}
	}
}

// add adds what a branch at a state is worth.
func (b *branches) add(state int32, x float64) {
	if b.beside[state] == 0 {
		b.origin[state] = x
	}
	b.beside[state]++
	b.sum[state] += x - b.origin[state]
}

// others returns the mean of the branches at a state that has some, exactly their value if all
// are equal.
func (b *branches) others(state int32) float64 {
	return b.origin[state] + b.sum[state]/float64(b.beside[state])
}

// worth returns the value of a state, of which the owner's own continuation is worth x.
func (b *branches) worth(state int32, x float64, share []float64) float64 {
	n := float64(b.beside[state])
	switch {
	case n == 0:
		return x
	case share != nil:
		return x + (1-share[state])*(b.others(state)-x)
	}
	return x + (b.others(state)-x)*(n/(n+1))
}

// backUpScores writes the mean score of what follows from each row: of the continuations of the next
// state, each the mean of those that follow it.
func (s *scratch) backUpScores(dst, score []float64) []float64 {
	s.backUp(dst, nil, score, nil, 1)
	return dst
}

// show writes the numbers of their owners into copies; their weight stays 0.
func (d *Result) show() {
	d.Owner = d.scratch.branches.owner
	for i, owner := range d.Owner {
		if int(owner) == i {
			continue
		}
		for _, x := range [][]float64{d.Return, d.Episode, d.Step, d.Advantage, d.Value, d.Next, d.Score} {
			if len(x) > 0 {
				x[i] = x[owner]
			}
		}
		d.AnchorGroup[i] = d.AnchorGroup[owner]
		if len(d.Distance) > 0 {
			d.Distance[i] = d.Distance[owner]
		}
	}
}
