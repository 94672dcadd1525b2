package explain

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// compared compares x with s, by the rules of package advantage.
func compared(x float64, s advantage.Spread, norm advantage.Norm, among string) *Term {
	t := &Term{Spread: s, Of: x, Divisor: 1}
	switch std := norm.Normalization == advantage.MeanStdNorm; {
	case s.N < 2 && norm.Singleton != advantage.SingletonRaw:
		t.Rule = "alone among " + among + ": nothing to compare with, so 0"
		return t
	case s.N < 2:
		t.Mean, t.Rule = 0, "alone among "+among+": its own value (singleton: raw)"
		if std {
			t.Divisor = 1 + norm.Epsilon
		}
	case std:
		t.Divisor = s.Deviation + norm.Epsilon
		t.Rule = fmt.Sprintf("minus the mean of %d %s, divided by their deviation (divisor n−1) + %g", s.N, among, norm.Epsilon)
	default:
		t.Rule = fmt.Sprintf("minus the mean of %d %s", s.N, among)
	}
	t.Value = (x - t.Mean) / t.Divisor
	return t
}

func norm(c advantage.Config) advantage.Norm {
	return advantage.Norm{Normalization: c.Normalization, Epsilon: c.Epsilon, Singleton: c.Singleton}
}

// episodeTerm returns A_E of the row, or nil for estimators without one.
func (b *Batch) episodeTerm(row int) *Term {
	c, n := b.Config, norm(b.Config)
	group, votes, score := b.columns()
	among := "scores"
	switch c.Estimator {
	case "gae", whitening:
		return nil
	case "flow_grpo":
		n.Normalization = advantage.MeanStdNorm
	case "rloo":
		n.Normalization = advantage.MeanNorm
	case "gigpo", "grpo", "hgpo":
		if c.BaselineOver == advantage.OverSteps {
			votes, among = nil, "scores (one for each step)"
		}
	}
	s := advantage.Spreads(score, group, votes)[group[row]]
	t := compared(score[row], s, n, among)
	if c.Estimator == "rloo" && s.N > 1 {
		k := float64(s.N)
		t.Divisor = (k - 1) / k
		t.Value *= k / (k - 1)
		t.Rule = fmt.Sprintf("minus the mean of the other %d scores, which is n/(n−1) times the difference from the mean of all", s.N-1)
	}
	return t
}

// stepTerm returns A_S of the row, or nil for estimators that have none or that compute it
// from levels or deltas.
func (b *Batch) stepTerm(row int) *Term {
	switch b.Config.Estimator {
	case "gigpo":
		n := norm(b.Config)
		n.Singleton = advantage.SingletonZero
		s := advantage.Spreads(b.Result.Return, b.Result.AnchorGroup, nil)[b.Result.AnchorGroup[row]]
		return compared(b.Result.Return[row], s, n, "returns from this state")
	case whitening:
		m := b.Result.Moments
		s := advantage.Spread{N: m.N, Mean: m.Mean, Deviation: m.Deviation, Varied: m.Deviation != 0}
		n := advantage.Norm{Normalization: advantage.MeanStdNorm, Epsilon: b.Config.Epsilon}
		return compared(b.Result.Return[row], s, n, "returns of the batch")
	}
	return nil
}
