package learning

import (
	"context"
	"math"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// Weigh returns, for each trajectory, the ratio of the probability of its decisions
// under p to their probability under the policy that made them. With these importance
// weights, the recorded rewards estimate p's own return. It returns nil if p cannot
// rate decisions.
//
// Where the probability of a decision was not recorded, Weigh estimates it as the
// frequency of the same answer to calls in the same state (regression importance
// sampling, arXiv 1806.01347).
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
		out[i] = math.Exp(min(sum, 500)) // finite, even when many are added
	}
	return out, nil
}

// counts is how often each state occurred, and each answer in it.
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
