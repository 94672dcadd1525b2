package exact

import (
	"context"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
)

// carlo estimates the advantage of every step by continuing the episode from it, with several
// budgets k of continuations. A smaller budget uses the first of the continuations of a larger one.
type carlo struct {
	most    int
	budgets []int
	values  []series // by budget: r + γ V(s') − V(s), V by k continuations from each state
	pairs   []series // (1 − p)(Q(s, a) − Q(s, others)), k continuations each, in pairs with the same randomness
}

// newCarlo returns budgets of 1, 4, 16 … continuations below most, and most.
func newCarlo(most int) *carlo {
	c := &carlo{most: most}
	for k := 1; k < most; k *= 4 {
		c.budgets = append(c.budgets, k)
	}
	if most > 0 {
		c.budgets = append(c.budgets, most)
	}
	c.values, c.pairs = make([]series, len(c.budgets)), make([]series, len(c.budgets))
	return c
}

func (c *carlo) rows(seed uint64) (rows []Row) {
	for i, k := range c.budgets {
		rows = append(rows, c.values[i].row(fmt.Sprintf("Monte Carlo, %d from each state", k), seed))
	}
	for i, k := range c.budgets {
		rows = append(rows, c.pairs[i].row(fmt.Sprintf("counterfactual, %d pairs", k), seed))
	}
	return rows
}

// add adds the steps of a member of group i of a plan.
func (c *carlo) add(ctx context.Context, m *measurement, plan rollout.Plan, i int, t *rl.Trajectory, exact []float64) error {
	if c.most == 0 {
		return nil
	}
	for b := range c.budgets {
		c.values[b].envSteps += len(t.Steps)
		c.pairs[b].envSteps += len(t.Steps)
	}
	if err := c.byValue(ctx, m, plan, i, t, exact); err != nil {
		return err
	}
	return c.byPair(ctx, m, plan, i, t, exact)
}

// byValue continues t from each state.
func (c *carlo) byValue(ctx context.Context, m *measurement, plan rollout.Plan, i int, t *rl.Trajectory, exact []float64) error {
	var branches []rollout.Branch
	for at := range t.Steps {
		for n := range c.most {
			branches = append(branches, rollout.Branch{From: t, At: at, Group: i, Number: at*c.most + n, Luck: -1})
		}
	}
	g, err := m.returns(ctx, plan, branches)
	if err != nil {
		return err
	}
	for b, k := range c.budgets {
		value := make([]float64, len(t.Steps)+1)
		for at := range t.Steps {
			value[at] = c.mean(g[at*c.most:], k, &c.values[b])
		}
		for at := range t.Steps {
			c.values[b].add(t.Steps[at].EnvReward+m.cfg.Advantage.Gamma*value[at+1]-value[at], exact[at], m.starts)
		}
	}
	return nil
}

// byPair continues t from each state with its own action and with others.
func (c *carlo) byPair(ctx context.Context, m *measurement, plan rollout.Plan, i int, t *rl.Trajectory, exact []float64) error {
	var branches []rollout.Branch
	var at []int // the steps with a choice
	for k := range t.Steps {
		if !chooses(&t.Steps[k]) {
			continue
		}
		first := 2 * c.most * k
		for n := range c.most { // the first of a pair has its own randomness, and the second one has the same
			branches = append(branches, rollout.Branch{From: t, At: k, Group: i, Number: first + n, Action: &t.Steps[k].Action, Luck: -1})
		}
		for n := range c.most {
			branches = append(branches, rollout.Branch{From: t, At: k, Group: i, Number: first + c.most + n, Other: true, Luck: plan.Members + first + n})
		}
		at = append(at, k)
	}
	g, err := m.returns(ctx, plan, branches)
	if err != nil {
		return err
	}
	for b, k := range c.budgets {
		for n, step := range at {
			own, others := c.mean(g[2*n*c.most:], k, &c.pairs[b]), c.mean(g[(2*n+1)*c.most:], k, &c.pairs[b])
			c.pairs[b].add((1-math.Exp(t.Steps[step].LogProb))*(own-others), exact[step], m.starts)
		}
	}
	return nil
}

// chooses reports whether another action was available.
func chooses(s *rl.Step) bool {
	if s.Policy == nil || s.Policy.Mask == nil {
		return len(s.Available) > 1
	}
	n := 0
	for _, x := range s.Policy.Mask {
		n += int(min(x, 1))
	}
	return n > 1
}

// continued is what followed a branching: the return and the steps.
type continued struct {
	value float64
	steps int
}

func (c *carlo) mean(of []continued, k int, s *series) (mean float64) {
	for _, x := range of[:k] {
		mean += x.value / float64(k)
		s.envSteps += x.steps
	}
	return mean
}

// returns plays branches and returns what followed each.
func (m *measurement) returns(ctx context.Context, plan rollout.Plan, branches []rollout.Branch) ([]continued, error) {
	episodes, _, err := m.collector.Continue(ctx, plan, branches, nil)
	if err != nil {
		return nil, err
	}
	out := make([]continued, len(episodes))
	for i, e := range episodes {
		if e.StopReason == rl.StopError {
			return nil, fmt.Errorf("%s: %s", e.ID, e.Error)
		}
		out[i].steps = len(e.Steps) - e.BranchAt
		for k := len(e.Steps) - 1; k >= e.BranchAt; k-- {
			out[i].value = e.Steps[k].EnvReward + m.cfg.Advantage.Gamma*out[i].value
		}
	}
	return out, nil
}
