// Package loss is the objective of the PPO family and its derivative by the
// network's outputs, row by row in double precision.
//
// The objective, a sum over rows with weight w:
//
//	L = Σ w·( policy − e·H + k·kl + v·½·value )
//	r = π(a)/old(a), or the sequence's exp(mean log π(a)/old(a)) of its rows
//
// The surrogate (policy) is one of
//
//	clip   −min(r·A, clip(r)·A), clip(r) = r within [1−low, 1+high]  (Schulman et al. 2017, arXiv 1707.06347)
//	dual   for A < 0: −max(min(r·A, clip(r)·A), c·A)                 (Ye et al. 2020, arXiv 1912.09729)
//	cispo  −sg(clip(r))·A·log π(a)                                   (MiniMax 2025, arXiv 2506.13585)
//	sapo   −4/τ·σ(τ(r − 1))·A, τ = τ₊ if A > 0, else τ₋              (arXiv 2511.20347)
//	gmpo   −r·A, r of the sequence, of ratios clipped one by one     (arXiv 2507.20673)
//	clip-cov, kl-cov: see cov.go                                     (arXiv 2505.22617)
//
// where sg is a constant for the derivative. With the ratio of the sequence
// (Zheng et al. 2025, arXiv 2507.18071) a row's derivative by log π(a) is
// −r·A: the paper's GSPO-token, in which each row may have a different advantage.
// It equals GSPO if all rows of a sequence have the same.
//
// The estimate of the divergence (Schulman 2020, "Approximating KL
// divergence") with d = log ref(a) − log π(a) is k1 = −d, k2 = ½d² or
// k3 = exp(d) − 1 − d. The critic's value is max((V−G)², (clip(V)−G)²), where
// clip keeps V within ValueClip of the estimate when the action was taken, or
// (V−G)² without. With Huber (1964) the square ½d² of a distance d is h·(|d| − ½h)
// where |d| is above h.
package loss

import "math"

// Surrogate is the form of the policy term.
type Surrogate byte

// The surrogates.
const (
	Clip Surrogate = iota
	CISPO
	SAPO
	GMPO // its ratio is that of the sequence
	ClipCov
	KLCov
)

// Estimator is the form of the KL term.
type Estimator byte

// The estimators.
const (
	K3 Estimator = iota
	K1
	K2
)

// Objective is what a learner minimizes. Its methods are pure: they may be called
// for parts of a minibatch at the same time. A coefficient of 0 omits its term.
type Objective struct {
	Surrogate Surrogate
	Sequence  bool       // the ratio is that of the row's sequence
	Low, High float64    // the ratio's bounds are 1−Low and 1+High
	Dual      float64    // bound of r·A for A < 0 in units of A, above 1; 0 = none
	Tau       [2]float64 // of SAPO, for A > 0 and for the others
	Cov       Cov        // of ClipCov and KLCov

	Entropy, KL, Value float64 // coefficients
	Estimator          Estimator
	ValueClip          float64 // 0 = the critic's loss is not clipped
	Huber              float64 // from this distance on the critic's loss is linear; 0 = it is squared everywhere
}

// LogProbs reads the logits (rows × actions) of the rows from ≤ i < to and
// writes LogProb, Entropy and LogRatio.
func (o *Objective) LogProbs(r *Rows, logits []float32, out *Result, from, to int) {
	actions := len(r.Mask) / len(r.Action)
	for i := from; i < to; i++ {
		z, mask := logits[i*actions:][:actions], r.Mask[i*actions:][:actions]
		top := math.Inf(-1)
		for a, x := range z {
			if mask[a] != 0 {
				top = max(top, float64(x))
			}
		}
		var sum, mean float64
		for a, x := range z {
			if mask[a] != 0 {
				d := float64(x) - top
				e := math.Exp(d)
				sum, mean = sum+e, mean+e*d
			}
		}
		logSum := math.Log(sum)
		logProb := float64(z[r.Action[i]]) - top - logSum
		out.logSum[i] = top + logSum
		out.Entropy[i], out.LogProb[i] = float32(logSum-mean/sum), float32(logProb)
		out.LogRatio[i] = logProb - float64(r.Old[i])
	}
}

// Couples reports whether Couple must be called: the rows of a minibatch depend on
// each other.
func (o *Objective) Couples() bool {
	return o.Sequence || o.Surrogate == ClipCov || o.Surrogate == KLCov
}

// Couple joins the first n rows, all of a minibatch, where the objective does:
// LogRatio becomes the mean over the row's sequence, and rows are marked that the
// surrogate treats otherwise. It is between LogProbs of all rows and Derive of any.
func (o *Objective) Couple(r *Rows, out *Result, n int) {
	clear(out.marked[:n])
	if o.Sequence {
		o.average(r, out, n)
	}
	switch o.Surrogate {
	case ClipCov:
		o.leaveOut(r, out, n)
	case KLCov:
		o.hold(r, out, n)
	}
}

// average makes LogRatio that of the sequences.
func (o *Objective) average(r *Rows, out *Result, n int) {
	for from := 0; from < n; {
		var sum float64
		to := from
		for ; to < n && r.Sequence[to] == r.Sequence[from]; to++ {
			if o.Surrogate == GMPO {
				out.LogRatio[to], out.marked[to] = o.bound(out.LogRatio[to], float64(r.Advantage[to]))
			}
			sum += out.LogRatio[to]
		}
		for mean := sum / float64(to-from); from < to; from++ {
			out.LogRatio[from] = mean
		}
	}
}

// bound returns a log-ratio within the bounds of the ratio on the side on which the
// advantage would push it further, and whether it was outside.
func (o *Objective) bound(logRatio, advantage float64) (float64, bool) {
	if low := math.Log(1 - o.Low); advantage < 0 && logRatio < low {
		return low, true
	}
	if high := math.Log1p(o.High); advantage >= 0 && logRatio > high {
		return high, true
	}
	return logRatio, false
}

// Derive writes the derivative of the objective by the logits and values of the
// rows from ≤ i < to, with their weights, and the rest of what Result holds.
// values and dvalues are nil without a critic.
func (o *Objective) Derive(r *Rows, logits, values []float32, out *Result, dlogits, dvalues []float32, from, to int) {
	actions := len(r.Mask) / len(r.Action)
	for i := from; i < to; i++ {
		w, logProb := float64(r.Weight[i]), float64(out.LogProb[i])
		policy, slope, cut := o.surrogate(out.LogRatio[i], float64(r.Advantage[i]), logProb, out.marked[i])
		out.Policy[i], out.Cut[i], out.KL[i], out.Value[i] = policy, cut, 0, 0
		if o.KL != 0 {
			kl, by := o.Estimator.Of(float64(r.Reference[i]) - logProb)
			out.KL[i], slope = kl, slope+o.KL*by
		}
		if values != nil {
			value, by := o.Critic(float64(values[i]), float64(r.Target[i]), float64(r.Estimate[i]))
			out.Value[i], dvalues[i] = value, float32(w*o.Value*by)
		}
		out.Loss[i] = policy - o.Entropy*float64(out.Entropy[i]) + o.KL*out.KL[i] + o.Value*out.Value[i]

		mask, entropy, taken := r.Mask[i*actions:][:actions], float64(out.Entropy[i]), int(r.Action[i])
		for a, x := range logits[i*actions:][:actions] {
			d := &dlogits[i*actions+a]
			if mask[a] == 0 {
				*d = 0
				continue
			}
			log := float64(x) - out.logSum[i]
			p := math.Exp(log)
			by := p * (o.Entropy*(log+entropy) - slope)
			if a == taken {
				by += slope
			}
			*d = float32(w * by)
		}
	}
}

// surrogate returns the policy term, its derivative by log π(a) and what cut it. Marked
// says that Couple marked the row.
func (o *Objective) surrogate(logRatio, advantage, logProb float64, marked bool) (policy, slope float64, cut Cut) {
	ratio := math.Exp(logRatio)
	switch o.Surrogate {
	case CISPO:
		weight := min(max(ratio, 1-o.Low), 1+o.High)
		if weight != ratio {
			cut = CutClip
		}
		return -weight * advantage * logProb, -weight * advantage, cut
	case SAPO:
		policy, slope = o.gate(min(logRatio, largest), advantage)
		return policy, slope, CutNone
	case GMPO:
		if marked {
			return -ratio * advantage, 0, CutClip
		}
		return -ratio * advantage, -ratio * advantage, CutNone
	case KLCov:
		return o.held(logRatio, advantage, marked)
	case ClipCov:
		if marked {
			return 0, 0, CutClip
		}
	}
	gain, limit := ratio*advantage, Cap(advantage, o.Low, o.High)
	switch {
	case gain > limit:
		return -limit, 0, CutClip
	case o.Dual > 0 && advantage < 0 && ratio > o.Dual:
		return -o.Dual * advantage, 0, CutDual
	}
	return -gain, -gain, CutNone
}

// largest is the log-ratio from which SAPO's gate is flat: it keeps exp finite.
const largest = 20

// gate returns SAPO's term −4/τ·σ(τ(r − 1))·A and its derivative by log π(a): its slope
// by r is that of −r·A where r is 1, and fades on both sides.
func (o *Objective) gate(logRatio, advantage float64) (policy, slope float64) {
	tau := o.Tau[1]
	if advantage > 0 {
		tau = o.Tau[0]
	}
	ratio := math.Exp(logRatio)
	x := tau * (ratio - 1)
	e := math.Exp(-math.Abs(x)) // of the nearer side, so that it does not overflow
	sigmoid := 1 / (1 + e)
	if x < 0 {
		sigmoid = e / (1 + e)
	}
	return -4 / tau * sigmoid * advantage, -4 * e / ((1 + e) * (1 + e)) * ratio * advantage
}

// Cap returns the largest gain r·A of an advantage within the ratio's bounds
// 1−low and 1+high.
func Cap(advantage, low, high float64) float64 {
	if advantage >= 0 {
		return advantage * (1 + high)
	}
	return advantage * (1 - low)
}

// Of returns the estimate for d = log ref(a) − log π(a) and its derivative by
// log π(a).
func (e Estimator) Of(d float64) (kl, slope float64) {
	switch e {
	case K1:
		return -d, 1
	case K2:
		return d * d / 2, -d
	}
	return math.Expm1(d) - d, -math.Expm1(d)
}

// Critic returns the critic's term ½(V−G)², or Huber's, clipped around the old estimate if
// ValueClip is not 0, and its derivative by V.
func (o *Objective) Critic(value, target, estimate float64) (loss, slope float64) {
	miss := value - target
	if o.ValueClip > 0 {
		// (clip(V)−G)² is the larger one exactly where (V−G)² is below the
		// squared distance of G from the interval.
		edge := max(0, target-estimate-o.ValueClip, estimate-o.ValueClip-target)
		if miss*miss < edge*edge {
			edge, _ = o.miss(edge)
			return edge, 0
		}
	}
	return o.miss(miss)
}

// miss returns the critic's term of a distance, and its derivative: ½d², or
// Huber's, which is linear above the distance Huber.
func (o *Objective) miss(d float64) (loss, slope float64) {
	if o.Huber == 0 || math.Abs(d) <= o.Huber {
		return d * d / 2, d
	}
	return o.Huber * (math.Abs(d) - o.Huber/2), math.Copysign(o.Huber, d)
}
