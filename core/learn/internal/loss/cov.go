package loss

import (
	"cmp"
	"math"
	"slices"
)

// Cov are the settings of the surrogates that look at the covariance of a row between its
// advantage and the log-probability of its action, in a minibatch of N rows:
//
//	c = (A − mean A)·(log π(a) − mean log π(a))
//
// Rows with a large c make the policy more certain of what it already does, and so take its
// entropy.
//
//	clip-cov  PPO's clipped term; of the rows that it does not clip and whose c is
//	          between Low and High, Share·N lose their term
//	kl-cov    −r·A; the Share·N rows with the largest c get KL·|log r| in addition
//
// At least one row is affected, if there is a candidate. Clip-cov takes the first
// candidates: the rows of a minibatch are in random order.
//
// Source: arXiv 2505.22617, with its code.
type Cov struct{ Share, Low, High, KL float64 }

// covariances writes c of the first n rows and returns how many rows are affected.
// Rows without weight do not count.
func (o *Objective) covariances(r *Rows, out *Result, n int) (most int) {
	var advantage, logProb, count float64
	for i := range n {
		if r.Weight[i] > 0 {
			advantage, logProb, count = advantage+float64(r.Advantage[i]), logProb+float64(out.LogProb[i]), count+1
		}
	}
	for i := range n {
		out.cov[i] = math.Inf(-1)
		if r.Weight[i] > 0 {
			out.cov[i] = (float64(r.Advantage[i]) - advantage/count) * (float64(out.LogProb[i]) - logProb/count)
		}
	}
	return max(1, int(o.Cov.Share*count))
}

// leaveOut marks the rows that clip-cov leaves out.
func (o *Objective) leaveOut(r *Rows, out *Result, n int) {
	left := o.covariances(r, out, n)
	for i := 0; i < n && left > 0; i++ {
		advantage := float64(r.Advantage[i])
		clipped := math.Exp(out.LogRatio[i])*advantage > Cap(advantage, o.Low, o.High)
		if out.cov[i] > o.Cov.Low && out.cov[i] < o.Cov.High && !clipped {
			out.marked[i] = true
			left--
		}
	}
}

// hold marks the rows that kl-cov holds back: of equal covariances, the earlier.
func (o *Objective) hold(r *Rows, out *Result, n int) {
	most := o.covariances(r, out, n)
	rows := make([]int, 0, n)
	for i := range n {
		if r.Weight[i] > 0 {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(out.cov[b], out.cov[a]) })
	for _, i := range rows[:min(most, len(rows))] {
		out.marked[i] = true
	}
}

// held returns the term of kl-cov, its derivative by log π(a), and whether the row was held
// back.
func (o *Objective) held(logRatio, advantage float64, marked bool) (policy, slope float64, cut Cut) {
	policy = -math.Exp(logRatio) * advantage
	if !marked {
		return policy, policy, CutNone
	}
	sign := 0.0
	if logRatio != 0 {
		sign = math.Copysign(1, logRatio)
	}
	return policy + o.Cov.KL*math.Abs(logRatio), policy + o.Cov.KL*sign, CutClip
}
