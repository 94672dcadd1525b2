package learning

import (
	"context"
	"math"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// Weigh returns, for each trajectory, how much likelier p makes its decisions
// than who made them did: the weights of importance sampling, by which the
// recorded rewards become an estimate of p's own. It returns nil if p cannot say
// how likely a decision is.
//
// Where it was not recorded how likely a decision was, that is taken from the
// trajectories: how often a call in the same state was answered the same
// (regression importance sampling, arXiv 1806.01347).
func (s *Set) Weigh(ctx context.Context, p policy.Policy, all []*rl.Trajectory) ([]float64, error) {
	if _, ok := p.(policy.Rater); !ok {
		return nil, nil
	}
	var steps []*rl.Step
	var weight []float64
	first := []int{0}
	for _, t := range all {
		for k := range t.Steps {
			step := &t.Steps[k]
			steps = append(steps, step)
			w := 0.0
			if skipped(step) == "" {
				w = 1
			}
			weight = append(weight, w)
		}
		first = append(first, len(steps))
	}
	rated, err := s.rate(ctx, p, steps, all, first, weight)
	if err != nil {
		return nil, err
	}
	often := frequencies(steps)
	out := make([]float64, len(all))
	for i := range all {
		sum := 0.0
		for row := first[i]; row < first[i+1]; row++ {
			if weight[row] == 0 {
				continue
			}
			was := steps[row].LogProb
			if unknown(steps[row]) {
				was = often.logProb(steps[row])
			}
			sum += rated[row].LogProb - was
		}
		out[i] = math.Exp(min(sum, 500)) // finite, also when many are added
	}
	return out, nil
}

// counts is how often a state was met, and each answer given in it.
type counts struct {
	states  map[string]int
	answers map[[2]string]int
}

func frequencies(steps []*rl.Step) counts {
	c := counts{map[string]int{}, map[[2]string]int{}}
	for _, s := range steps {
		if unknown(s) && skipped(s) == "" {
			c.states[s.Anchor]++
			c.answers[[2]string{s.Anchor, s.Action.Text}]++
		}
	}
	return c
}

func (c counts) logProb(s *rl.Step) float64 {
	return math.Log(float64(c.answers[[2]string{s.Anchor, s.Action.Text}]) / float64(c.states[s.Anchor]))
}
