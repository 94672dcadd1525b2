package advantage

import "math"

// hgpo compares a step inside nested groups and averages:
//
//	level 0: the whole group (A_E)
//	level j: steps of the group whose last j observations agree, j = 1 … history+1
//	A = Σ w_j A_j / Σ w_j,  w_j = (j+1)^α, over the levels that vary
//
// A level varies for a step if not all returns (scores on level 0) of its
// group there are equal; a step that is alone, or has fewer than j
// observations, does not count level j. Step is the same average without
// level 0.
//
// Source: arXiv 2602.22817 and its reference implementation with the episode
// advantage as the outermost level. That one leaves out every A_j = 0, even if the
// step is exactly at the mean, and divides by a deviation with divisor n; here the
// average is continuous and the divisor n−1 as everywhere in this package.
func hgpo(cfg Config, rows *Rows, d *Result) {
	s, norm := &d.scratch, cfg.norm()
	total, steps, level := s.work[0], s.work[1], s.work[2]
	relative(d.Episode, s.score, s.member, s.votes(cfg.BaselineOver), norm, &s.moments)
	for i, g := range s.member {
		total[i], steps[i] = 0, 0
		if d.Episode[i] != 0 || g >= 0 && s.moments[g].varied {
			total[i] = 1
		}
	}
	norm.Singleton = SingletonZero
	context, next := s.level[0], s.level[1]
	copy(context, d.AnchorGroup)
	for j := 1; j <= cfg.History+1; j++ {
		if j > 1 {
			s.deepen(next, context, d.AnchorGroup)
			context, next = next, context
		}
		relative(level, d.Return, context, nil, norm, &s.moments)
		w := math.Pow(float64(j+1), cfg.HistoryExponent)
		for i, c := range context {
			if c >= 0 && s.moments[c].varied {
				d.Step[i] += w * level[i]
				steps[i] += w
			}
		}
	}
	for i, w := range steps {
		if total[i] += w; total[i] > 0 {
			d.Advantage[i] = (d.Episode[i] + d.Step[i]) / total[i]
		}
		if w > 0 {
			d.Step[i] /= w
		}
	}
}

// deepen writes the contexts that are one observation longer: the pair of the
// step's own anchor group and the context of the step before it; −1 for the
// first step of a trajectory and where that step has none.
func (s *scratch) deepen(dst, context, anchors []int32) {
	next, current := int32(0), int32(-1)
	for k, i := range s.order.rows {
		dst[i] = -1
		if s.order.first[i] || anchors[i] < 0 {
			continue
		}
		before := context[s.branches.own(s.order.rows[k-1])]
		if before < 0 {
			continue
		}
		if s.member[i] != current && s.order.together {
			s.contexts.shed()
		}
		current = s.member[i]
		key := [2]int32{before, anchors[i]}
		id, ok := s.contexts.get(key)
		if !ok {
			id = next
			next++
			s.contexts.put(key, id)
		}
		dst[i] = id
	}
	s.contexts.clear()
}
