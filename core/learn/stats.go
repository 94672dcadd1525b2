package learn

import (
	"math"

	"github.com/merit-rl/merit/core/learn/internal/loss"
)

// Stats describes one update. Means are over all rows in all epochs, weighted
// by the rows' weights, each at the parameters that its minibatch began with.
type Stats struct {
	Rows        int // of weight above 0
	Minibatches int // optimizer steps, over all epochs

	Loss              float64 // all terms with their coefficients
	PolicyLoss        float64 // of the surrogate: −min(r·A, clipped r·A) of clip
	ValueLoss         float64 // ½(v−G)², clipped if configured; 0 without a critic
	Entropy           float64 // nats
	KL                float64 // k3 estimate against the policy that acted, nats
	ReferenceKL       float64 // k3 estimate against the KL term's reference, nats; 0 without the term
	ClipFraction      float64 // share of rows whose gradient the clip or the covariance removed; with cispo, bounded; with kl_cov, held back
	DualClipFraction  float64 // share of rows whose gradient the dual clip removed
	GradNorm          float64 // mean over minibatches, before clipping
	LearningRate      float64 // of this update
	KLCoefficient     float64 // of this update
	EntropyWeight     float64 // of this update
	AdvantageRMS      float64 // root of the mean square, before scaling
	ExplainedVariance float64 // 1 − Var(G−v)/Var(G) of the values when the actions were taken; 0 without a critic
}

// sums adds up Stats.
type sums struct {
	result Stats
	weight float64
}

func newSums(b *batch, l *Learner, rate float64) *sums {
	s := &sums{result: Stats{
		Rows: len(b.rows), LearningRate: rate, AdvantageRMS: b.rms, KLCoefficient: l.klCoefficient, EntropyWeight: l.objective.Entropy,
	}}
	if b.policy.HasValue() {
		s.result.ExplainedVariance = b.explainedVariance()
	}
	return s
}

func (s *sums) step(norm float64) {
	s.result.Minibatches++
	s.result.GradNorm += norm
}

// row adds row i of b, for which the objective found out at position j.
func (s *sums) row(b *batch, i int, out *loss.Result, j int) {
	r, w, logProb := &s.result, b.weight[i], float64(out.LogProb[j])
	s.weight += w
	r.Loss += w * out.Loss[j]
	r.PolicyLoss += w * out.Policy[j]
	r.ValueLoss += w * out.Value[j]
	r.Entropy += w * float64(out.Entropy[j])
	r.KL += w * k3(logProb-b.samples.LogProb[b.rows[i]])
	if b.reference != nil {
		r.ReferenceKL += w * k3(b.reference[i]-logProb)
	}
	switch out.Cut[j] {
	case loss.CutClip:
		r.ClipFraction += w
	case loss.CutDual:
		r.DualClipFraction += w
	}
}

// k3 is the estimator ratio − 1 − log ratio of a divergence (Schulman 2020).
func k3(logRatio float64) float64 { return math.Expm1(logRatio) - logRatio }

func (s *sums) stats() Stats {
	r := s.result
	if s.weight > 0 {
		for _, mean := range []*float64{&r.Loss, &r.PolicyLoss, &r.ValueLoss, &r.Entropy, &r.KL, &r.ReferenceKL, &r.ClipFraction, &r.DualClipFraction} {
			*mean /= s.weight
		}
		r.GradNorm /= float64(r.Minibatches)
	}
	return r
}

// explainedVariance is 0 where all returns are equal.
func (b *batch) explainedVariance() float64 {
	var mean, meanMiss, square, squareMiss float64
	for i, row := range b.rows {
		w := b.weight[i] / float64(len(b.rows))
		g, miss := b.samples.Return[row], b.samples.Return[row]-b.samples.Value[row]
		mean, meanMiss = mean+w*g, meanMiss+w*miss
		square, squareMiss = square+w*g*g, squareMiss+w*miss*miss
	}
	variance := square - mean*mean
	if variance < 1e-12 {
		return 0
	}
	return 1 - (squareMiss-meanMiss*meanMiss)/variance
}
