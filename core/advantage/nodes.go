package advantage

// g2po compares what the next state is worth with the other steps from the state, and the
// gain of the step with all steps of the group:
//
//	V(s) = mean of γ^(T−t) R over the visits of s in the group
//	V′ = V(s′), or R of the trajectory behind its last step
//	A_S = (V′ − mean) / F among the steps from s + ((V′ − V) − mean) / F in the group
//	A = A_E + ω A_S
//
// The first part is 0 for a step that is alone in its state. An invalid action subtracts the
// penalty from V′ in the first part.
//
// Source: arXiv 2606.22995 and its reference implementation, which takes 10 for R of a success
// and 0 otherwise behind a last step, and does not discount V′ in the gain. The score is the
// only signal: rewards of steps do not count.
func g2po(cfg Config, rows *Rows, d *Result) {
	s := &d.scratch
	visits := s.visits(cfg.Gamma, rows)
	d.Value, d.Next = s.means(d.Value, visits, d.AnchorGroup), zeroed(d.Next, rows.Len())
	gain, among := s.work[1], s.work[2]
	for k, i := range s.order.rows {
		if s.member[i] < 0 {
			continue
		}
		d.Next[i] = rows.Score[i]
		if !s.order.end[k] {
			d.Next[i] = d.Value[s.order.rows[k+1]]
		}
		gain[i] = d.Next[i] - d.Value[i]
	}
	d.episode(cfg)
	norm := cfg.norm()
	norm.Singleton = SingletonZero
	PenaliseInvalid(d.Next, d.Next, rows.Valid, cfg.InvalidActionPenalty)
	relative(among, d.Next, d.AnchorGroup, nil, norm, &s.moments)
	relative(gain, gain, s.member, nil, norm, &s.moments)
	for i := range d.Step {
		d.Step[i] = among[i] + gain[i]
	}
	Combine(d.Advantage, d.Episode, d.Step, cfg.Combine, cfg.Omega)
}

// visits returns the discounted score that follows each row, in the first work buffer.
func (s *scratch) visits(gamma float64, rows *Rows) []float64 {
	out, b := s.work[0], &s.branches
	if b.any {
		s.backUp(out, nil, rows.Score, nil, gamma)
	}
	weight, branched := 1.0, false
	for k := len(s.order.rows) - 1; k >= 0; k-- {
		i := s.order.rows[k]
		if s.order.end[k] {
			weight, branched = 1, false
		}
		weight *= gamma
		if !branched { // the same bits as in a batch without branches
			out[i] = weight * rows.Score[i]
		}
		branched = branched || b.any && b.beside[i] > 0
	}
	return out
}

// gagpo is [gae] with the mean return of the steps from a state as its value, compared with
// all steps of the group:
//
//	V(s) = mean G over the visits of s in the group
//	δ = r + γ V(s′) − V(s),  A_S = δ + γλ A_S′,  A = (A_S − mean A_S of the group) / F
//
// Source: arXiv 2605.13217. It has no term for the outcome of the trajectory: the paper
// reports that adding one is worse.
func gagpo(cfg Config, rows *Rows, d *Result) {
	s := &d.scratch
	d.Value = s.means(d.Value, d.Return, d.AnchorGroup)
	d.generalized(cfg, rows, d.Value)
	norm := cfg.norm()
	norm.Singleton = SingletonZero
	relative(d.Advantage, d.Step, s.member, nil, norm, &s.moments)
}

// means writes for each row the mean of x in its group into dst.
func (s *scratch) means(dst, x []float64, group []int32) []float64 {
	dst = zeroed(dst, len(x))
	m := measure(&s.moments, x, group, nil, false)
	for i, g := range group {
		if g >= 0 {
			dst[i] = m[g].mean
		}
	}
	return dst
}
