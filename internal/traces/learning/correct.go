package learning

import (
	"context"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// Experience returns batch b as experience for p. Steps that cannot be learned from
// have weight 0; the others are corrected, by the method, for the policy that made
// the decisions. If p can rate decisions, the old policy of the surrogate is the
// current p; otherwise it is the policy that decided. Experience does not change the
// batch.
func (s *Set) Experience(ctx context.Context, p policy.Policy, b *credit.Batch) (*policy.Experience, *run.OffPolicy, error) {
	e := *b.Experience()
	e.Advantage, e.Weight = append([]float64(nil), e.Advantage...), append([]float64(nil), e.Weight...)
	for i, step := range b.Steps {
		if skipped(step) != "" {
			e.Weight[i] = 0
		}
	}
	if s.reader.encodes {
		return s.imitate(ctx, p, b, &e)
	}
	rated, err := s.rate(ctx, p, b.Steps, b.Trajectories, b.First, e.Weight)
	if err != nil {
		return nil, nil, err
	}
	w := weights{most: s.cfg.MaxRatio}
	if s.cfg.Method == Clone {
		clone(&e, &w, s.cfg.Temperature)
	}
	if rated == nil {
		return &e, w.stats(), nil
	}
	e.Trajectories = make([]*rl.Trajectory, len(b.Trajectories))
	for i, t := range b.Trajectories {
		c := as(t, t.ID, t.Group)
		for k := range c.Steps {
			row := b.First[i] + k
			if e.Weight[row] == 0 {
				continue
			}
			step, d := &c.Steps[k], &rated[row]
			if s.cfg.Method == Importance {
				e.Weight[row] *= w.add(math.Exp(d.LogProb - step.LogProb))
			}
			step.Policy = &rl.Sampled{Features: step.Policy.Features, Mask: step.Policy.Mask, LogitMax: d.LogitMax}
			step.LogProb, step.Value = d.LogProb, nil
			if d.HasValue {
				step.Value = &d.Value
			}
		}
		e.Trajectories[i] = c
	}
	return &e, w.stats(), nil
}

// clone turns advantages into weights: exp(A ÷ (temperature · rms)).
func clone(e *policy.Experience, w *weights, temperature float64) {
	square, n := 0.0, 0
	for i, a := range e.Advantage {
		if e.Weight[i] > 0 {
			square += a * a
			n++
		}
	}
	scale := math.Sqrt(square / float64(max(n, 1)))
	if scale == 0 {
		scale = 1 // all advantages are 0
	}
	for i, a := range e.Advantage {
		if e.Weight[i] > 0 {
			e.Advantage[i] = w.add(math.Exp(a / (temperature * scale)))
		}
	}
}

// rate returns p's decision for every step with a weight, or nil if p cannot rate.
func (s *Set) rate(ctx context.Context, p policy.Policy, steps []*rl.Step, all []*rl.Trajectory, first []int, weight []float64) ([]policy.Decision, error) {
	r, ok := p.(policy.Rater)
	if !ok {
		if s.reader.choices != nil {
			return nil, &fault.Error{
				Boundary: fault.Learner, Kind: fault.Invalid, What: "the policy cannot compute the probability of a choice",
				Hint: "use the embedded network to learn choices; a language model learns tokens",
			}
		}
		return nil, nil
	}
	var observations []policy.Observation
	var decisions []policy.Decision
	var rows []int
	for i, t := range all {
		for row := first[i]; row < first[i+1]; row++ {
			if weight[row] == 0 {
				continue
			}
			step := steps[row]
			observations = append(observations, policy.Observation{
				Text: t.Messages[step.MessageCount-1].Content.Text(), Features: step.Policy.Features, Mask: step.Policy.Mask, Actions: s.reader.choices,
			})
			decisions = append(decisions, policy.Decision{Action: step.Action})
			rows = append(rows, row)
		}
	}
	if err := r.Rate(ctx, observations, decisions); err != nil {
		return nil, fmt.Errorf("rating the decisions of traces: %w", err)
	}
	out := make([]policy.Decision, len(steps))
	for i, row := range rows {
		out[row] = decisions[i]
	}
	return out, nil
}

// weights clips weights and accumulates statistics.
type weights struct {
	most        float64
	n, cut      int
	sum, square float64
}

func (w *weights) add(x float64) float64 {
	w.n++
	if !(x <= w.most) { // also if infinite or NaN
		x = w.most
		w.cut++
	}
	w.sum += x
	w.square += x * x
	return x
}

func (w *weights) stats() *run.OffPolicy {
	o := &run.OffPolicy{Decisions: w.n}
	if w.n > 0 && w.square > 0 {
		o.Weight, o.Bounded = w.sum/float64(w.n), float64(w.cut)/float64(w.n)
		o.Effective = w.sum * w.sum / (float64(w.n) * w.square)
	}
	return o
}
