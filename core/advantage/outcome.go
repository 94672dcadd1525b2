package advantage

import "math"

// opo subtracts the baseline of least variance, if the gradient of a trajectory grows with its
// length:
//
//	A = R − Σ T R / Σ T,  T = steps of a trajectory
//
// Source: arXiv 2505.23585, Eq. 6 and 7, with steps for tokens.
func opo(cfg Config, rows *Rows, d *Result) {
	cfg.Normalization, cfg.BaselineOver = MeanNorm, OverSteps
	grpo(cfg, rows, d)
}

// maxRL divides by the mean score instead of the deviation, so that the gradient is that of
// the log-likelihood of a success:
//
//	A = (R − mean) / mean,  0 if no member scored
//
// Source: arXiv 2602.02710, for scores of 0 and 1.
func maxRL(cfg Config, _ *Rows, d *Result) {
	s := &d.scratch
	relative(d.Episode, s.score, s.member, s.order.first, Norm{Normalization: MeanNorm, Singleton: SingletonZero}, &s.moments)
	for i, m := range s.member {
		if m >= 0 && s.moments[m].mean > 0 {
			d.Episode[i] /= s.moments[m].mean
		}
	}
	copy(d.Advantage, d.Episode)
}

// passK credits only the best member of a group, with its lead:
//
//	A = (R − second best R) / F for the best, 0 for the others
//
// Members that share the best score lead by 0.
//
// Source: arXiv 2503.19595.
func passK(cfg Config, _ *Rows, d *Result) {
	s := &d.scratch
	m := measure(&s.moments, s.score, s.member, s.order.first, cfg.Normalization == MeanStdNorm)
	best := s.leaders(len(m))
	for i, g := range s.member {
		if g >= 0 && m[g].n > 1 && s.score[i] > best[g].second {
			d.Episode[i] = (s.score[i] - best[g].second) / m[g].divisor(cfg.norm())
		}
	}
	copy(d.Advantage, d.Episode)
}

// reinforcePPBaseline whitens over the whole batch what grpo with mean_norm gives.
//
//	A = ((R − mean R of the group) − mean of the batch) / (std of the batch + ε)
//
// Source: arXiv 2501.03262 (REINFORCE++ with baseline).
func reinforcePPBaseline(cfg Config, _ *Rows, d *Result) {
	s := &d.scratch
	cfg.Normalization = MeanNorm
	relative(d.Episode, s.score, s.member, s.votes(cfg.BaselineOver), cfg.norm(), &s.moments)
	whiten(d.Step, d.Episode, s.member, nil, cfg.Epsilon, s.level[0], &s.moments)
	copy(d.Advantage, d.Step)
	d.Moments = s.whitened()
}

// leader is the best score of a group and the one behind it, which may be equal.
type leader struct{ best, second float64 }

// leaders returns the leader of each group.
func (s *scratch) leaders(groups int) []leader {
	s.best = resized(s.best, groups)
	for g := range s.best {
		s.best[g] = leader{math.Inf(-1), math.Inf(-1)}
	}
	for i, g := range s.member {
		if g < 0 || !s.order.first[i] {
			continue
		}
		l := &s.best[g]
		l.second = max(l.second, min(l.best, s.score[i]))
		l.best = max(l.best, s.score[i])
	}
	return s.best
}
