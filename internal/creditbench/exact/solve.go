package exact

import (
	"context"
	"math"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// solved is what an episode can expect under a policy: the discounted rewards to come.
type solved struct {
	gamma float64
	value [][]float64 // [steps taken][node]
}

// chances returns the probability of each action in each state: [node][action].
func (g *graph) chances(ctx context.Context, p policy.Rater) ([][]float64, error) {
	var observations []policy.Observation
	var decisions []policy.Decision
	for i := range g.nodes {
		n := &g.nodes[i]
		for a, name := range g.spec.Actions {
			if n.mask[a] == 0 || n.moves == nil {
				continue
			}
			observations = append(observations, policy.Observation{Text: n.anchor, Features: n.features, Mask: n.mask, Actions: g.spec.Actions})
			decisions = append(decisions, policy.Decision{Action: rl.Action{Kind: rl.ActionChoice, Choice: a, Text: name}})
		}
	}
	if err := p.Rate(ctx, observations, decisions); err != nil {
		return nil, err
	}
	out := make([][]float64, len(g.nodes))
	for i := range g.nodes {
		if out[i] = make([]float64, len(g.spec.Actions)); g.nodes[i].moves == nil {
			continue
		}
		for a := range out[i] {
			if g.nodes[i].mask[a] != 0 {
				out[i][a], decisions = math.Exp(decisions[0].LogProb), decisions[1:]
			}
		}
	}
	return out, nil
}

// solve computes every value, from the last step to the first: V(t, s) = Σ_a π(a|s) (r + γ V(t+1, s')).
// A state that no episode reaches in t steps has a value too, which nothing reads.
func (g *graph) solve(chances [][]float64, gamma float64, horizon int) *solved {
	s := &solved{gamma: gamma, value: make([][]float64, horizon+1)}
	s.value[horizon] = make([]float64, len(g.nodes))
	for t := horizon - 1; t >= 0; t-- {
		s.value[t] = make([]float64, len(g.nodes))
		for i := range g.nodes {
			for a, m := range g.nodes[i].moves {
				s.value[t][i] += chances[i][a] * s.after(t, m)
			}
		}
	}
	return s
}

// after returns what an action is worth that is taken after t steps.
func (s *solved) after(t int, m move) float64 {
	if m.to == end {
		return m.reward
	}
	return m.reward + s.gamma*s.value[t+1][m.to]
}
