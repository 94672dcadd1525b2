package learn

import (
	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/rl"
)

// terms returns the objective of the next update: the settings, at the
// schedule's and the controller's point.
func (l *Learner) terms() loss.Objective {
	c := l.cfg
	o := loss.Objective{
		Sequence: c.Ratio == RatioSequence, Low: c.ClipLow, High: c.ClipHigh, Dual: c.DualClip,
		Entropy: c.Entropy * c.EntropySchedule.Factor(l.policy.Version()), Value: c.ValueLoss, ValueClip: c.ValueClip, Huber: c.ValueHuber,
	}
	o.Surrogate = surrogates[c.Surrogate]
	o.Tau = [2]float64{c.TauPositive, c.TauNegative}
	o.Cov = loss.Cov{Share: c.CovShare, Low: c.CovLow, High: c.CovHigh, KL: c.CovKL}
	o.Estimator = c.KLEstimator.estimator()
	if c.KLIn == KLInLoss {
		o.KL = l.klCoefficient
	}
	return o
}

// surrogates are the forms of the policy term by their names.
var surrogates = map[SurrogateKind]loss.Surrogate{
	SurrogateClip: loss.Clip, SurrogateCISPO: loss.CISPO, surrogateSAPO: loss.SAPO, surrogateGMPO: loss.GMPO,
	surrogateClipCov: loss.ClipCov, surrogateKLCov: loss.KLCov,
}

func (e KLEstimator) estimator() loss.Estimator {
	switch e {
	case KLK1:
		return loss.K1
	case KLK2:
		return loss.K2
	}
	return loss.K3
}

// penalise subtracts from each advantage coefficient times the divergence of its
// step and of the later steps in its sequence. It first subtracts the mean over
// all rows, which would only add variance to the gradient.
func (b *batch) penalise(coefficient float64) {
	estimator := b.cfg.KLEstimator.estimator()
	cost, mean := make([]float64, len(b.rows)), 0.0
	for i := len(b.rows) - 1; i >= 0; i-- {
		cost[i], _ = estimator.Of(b.reference[i] - b.samples.LogProb[b.rows[i]])
		if i+1 < len(b.rows) && b.sequence(i) == b.sequence(i+1) {
			cost[i] += cost[i+1]
		}
		mean += b.weight[i] * cost[i] / float64(len(b.rows))
	}
	for i := range b.advantage {
		b.advantage[i] -= coefficient * (cost[i] - mean)
	}
}

// sequence returns the sequence of row i of b. Without Samples.Sequence each
// row is one.
func (b *batch) sequence(i int) int32 {
	if b.samples.Sequence == nil {
		return int32(b.rows[i])
	}
	return b.samples.Sequence[b.rows[i]]
}

// order returns the rows of b in an order that seed decides; where the ratio is
// the sequence's, the rows of a sequence stay together.
func (b *batch) order(seed rl.Seed) []int {
	if b.cfg.Ratio != RatioSequence {
		return shuffle(len(b.rows), seed)
	}
	var starts []int
	for i := range b.rows {
		if i == 0 || b.sequence(i) != b.sequence(i-1) {
			starts = append(starts, i)
		}
	}
	order := make([]int, 0, len(b.rows))
	for _, k := range shuffle(len(starts), seed) {
		for i := starts[k]; i < len(b.rows) && b.sequence(i) == b.sequence(starts[k]); i++ {
			order = append(order, i)
		}
	}
	return order
}

// cut splits order into parts of at most size rows; where the ratio is the
// sequence's, each part continues to the end of its last sequence.
func (b *batch) cut(order []int, size int) [][]int {
	if b.cfg.Ratio != RatioSequence {
		return split(order, size)
	}
	var parts [][]int
	for left := (len(order) + size - 1) / size; len(order) > 0; left = max(1, left-1) {
		n := (len(order) + left - 1) / left
		for n < len(order) && b.sequence(order[n]) == b.sequence(order[n-1]) {
			n++
		}
		parts, order = append(parts, order[:n]), order[n:]
	}
	return parts
}

// most bounds the rows of a part that cut makes.
func (b *batch) most(size int) int {
	longest, length := 1, 0
	for i := range b.rows {
		if i > 0 && b.cfg.Ratio == RatioSequence && b.sequence(i) == b.sequence(i-1) {
			length++
		} else {
			length = 1
		}
		longest = max(longest, length)
	}
	return min(len(b.rows), size+longest-1)
}
