package explain

import (
	"fmt"
	"math"

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
	case "gae", "gagpo", "gdpo", whitening, "tree", "vine", "counterfactual":
		return nil
	case "rae":
		return b.roleTerm(row)
	case "remax":
		return b.greedyTerm(row)
	case "flow_grpo":
		n.Normalization = advantage.MeanStdNorm
	case "rloo":
		n.Normalization = advantage.MeanNorm
	case "opo":
		n.Normalization, votes, among = advantage.MeanNorm, nil, "scores (one for each step)"
	case "maxrl":
		n = advantage.Norm{Normalization: advantage.MeanNorm}
	case "reinforce_pp_baseline":
		n.Normalization = advantage.MeanNorm
		fallthrough
	case "gigpo", "grpo", "hgpo", "graphgpo", "tigpo", "g2po":
		if c.BaselineOver == advantage.OverSteps {
			votes, among = nil, "scores (one for each step)"
		}
	}
	if combines(c.Estimator) && c.Whitens() {
		return b.whitened(b.Result.Return[row], "returns of the batch")
	}
	s := advantage.Spreads(score, group, votes)[group[row]]
	t := compared(score[row], s, n, among)
	switch {
	case s.N < 2:
	case c.Estimator == "rloo":
		return b.againstOthers(score[row], s, among)
	case c.Estimator == "maxrl" && s.Mean > 0:
		t.Divisor, t.Value = s.Mean, t.Value/s.Mean
		t.Rule = fmt.Sprintf("minus the mean of %d scores, divided by that mean", s.N)
	case c.Estimator == "grpo_passk":
		b.lead(row, t)
	}
	return t
}

// lead compares the score of the row with the second best of the group, if it is above that.
func (b *Batch) lead(row int, t *Term) {
	group, votes, score := b.columns()
	best, second := math.Inf(-1), math.Inf(-1)
	for i, vote := range votes {
		if vote && group[i] == group[row] {
			best, second = max(best, score[i]), max(second, min(best, score[i]))
		}
	}
	t.Value, t.Mean, t.Rule = 0, t.Of, "not the best of the group, or not the only one, so 0"
	if t.Of > second {
		t.Mean, t.Value = second, (t.Of-second)/t.Divisor
		t.Rule = "the best of the group: minus the second best"
	}
}

// stepTerm returns A_S of the row, or nil for estimators that have none or that compute it
// from levels or deltas.
func (b *Batch) stepTerm(row int) *Term {
	switch b.Config.Estimator {
	case "gigpo":
		n := norm(b.Config)
		n.Singleton = advantage.SingletonZero
		s := advantage.Spreads(b.Result.Return, b.states(), nil)[b.Result.AnchorGroup[row]]
		return compared(b.Result.Return[row], s, n, "returns from this state")
	case "graphgpo", "tigpo":
		s := advantage.Spreads(b.Result.Next, b.states(), nil)[b.Result.AnchorGroup[row]]
		return compared(b.Result.Next[row], s, advantage.Norm{Normalization: advantage.MeanStdNorm, Epsilon: b.Config.Epsilon}, "steps from this state")
	case "g2po":
		n := norm(b.Config)
		n.Singleton = advantage.SingletonZero
		s := advantage.Spreads(b.Result.Next, b.states(), nil)[b.Result.AnchorGroup[row]]
		return compared(b.Result.Next[row], s, n, "steps from this state")
	case "gagpo":
		group, _, _ := b.columns()
		n := norm(b.Config)
		n.Singleton = advantage.SingletonZero
		return compared(b.Result.Step[row], advantage.Spreads(b.Result.Step, group, nil)[group[row]], n, "steps of the group")
	case "tree":
		return b.amongSiblings(row)
	case "vine":
		return b.againstValue(row)
	case "counterfactual":
		return b.againstOtherActions(row)
	case whitening, "reinforce_pp_baseline", "gdpo":
		x, what := b.Result.Return, "returns of the batch"
		if b.Config.Estimator != whitening {
			x, what = b.Result.Episode, "differences of the batch"
		}
		return b.whitened(x[row], what)
	}
	return nil
}

// whitened compares x with the whole batch.
func (b *Batch) whitened(x float64, among string) *Term {
	m := b.Result.Moments
	s := advantage.Spread{N: m.N, Mean: m.Mean, Deviation: m.Deviation, Varied: m.Deviation != 0}
	return compared(x, s, advantage.Norm{Normalization: advantage.MeanStdNorm, Epsilon: b.Config.Epsilon}, among)
}
