package learn_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// corridor is a world of cells in a row: go right from cell 0 to the last one
// within the time limit. At the left wall, "left" is not available.
type corridor struct {
	cells, limit int
	text         bool
}

var corridorActions = []string{"left", "right", "wait"}

func (c corridor) input() learn.Input {
	if c.text {
		return learn.Input{Actions: corridorActions}
	}
	return learn.Input{Shape: []int{1, 1, c.cells}, Actions: corridorActions}
}

func (c corridor) observe(at int) policy.Observation {
	o := policy.Observation{Actions: corridorActions, Mask: []byte{1, 1, 1}}
	if at == 0 {
		o.Mask[0] = 0
	}
	if c.text {
		o.Text = fmt.Sprintf("You stand at cell %d of %d.", at, c.cells)
		return o
	}
	o.Features = make([]float32, c.cells)
	o.Features[at] = 1
	return o
}

// play collects episodes with returns discounted by 0.9 and, as advantage,
// what they are above their mean. It also returns the share that arrived.
func (c corridor) play(t testing.TB, p policy.Policy, episodes int, seed rl.Seed) (*learn.Samples, float64) {
	s := &learn.Samples{}
	arrived := 0
	var d [1]policy.Decision
	for e := range episodes {
		at, first := 0, s.Len()
		for step := 0; step < c.limit && at < c.cells-1; step++ {
			o := c.observe(at)
			o.Seed = seed.Path(uint64(e), uint64(step))
			require.NoError(t, p.Act(context.Background(), []policy.Observation{o}, d[:]))
			record(s, o, d[0])
			at += []int{-1, 1, 0}[d[0].Action.Choice]
		}
		g := 0.0
		if at == c.cells-1 {
			g = 1
			arrived++
		}
		for row := s.Len() - 1; row >= first; row-- {
			s.Return[row] = g
			g *= 0.9
		}
	}
	mean := 0.0
	for _, g := range s.Return {
		mean += g / float64(s.Len())
	}
	for row, g := range s.Return {
		s.Advantage[row] = g - mean
	}
	return s, float64(arrived) / float64(episodes)
}

// record appends a decision with weight 1 and zeros for what comes later.
func record(s *learn.Samples, o policy.Observation, d policy.Decision) {
	s.Features, s.Text, s.Mask = append(s.Features, o.Features), append(s.Text, o.Text), append(s.Mask, o.Mask)
	s.Action, s.LogProb = append(s.Action, int32(d.Action.Choice)), append(s.LogProb, d.LogProb)
	s.LogitMax, s.Value = append(s.LogitMax, d.LogitMax), append(s.Value, d.Value)
	s.Weight, s.Advantage, s.Return = append(s.Weight, 1), append(s.Advantage, 0), append(s.Return, 0)
}

// small is a learner's configuration for worlds that are learned in moments.
func small(change func(*learn.PPOConfig)) learn.PPOConfig {
	cfg := learn.DefaultPPOConfig()
	cfg.Minibatch, cfg.LearningRate = 200, 0.01
	if change != nil {
		change(&cfg)
	}
	return cfg
}

func newLearner(t testing.TB, in learn.Input, pc func(*learn.PolicyConfig), ppo learn.PPOConfig) (*learn.Policy, *learn.Learner) {
	cfg := learn.DefaultPolicyConfig()
	cfg.Hidden = []int{16}
	cfg.Ngrams.Dimensions = 128
	if pc != nil {
		pc(&cfg)
	}
	p, err := learn.NewPolicy(cfg, in, 3)
	require.NoError(t, err)
	l, err := learn.NewLearner(learn.DefaultConfig(), ppo, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return p, l
}

// Promise: the learner solves a bandit: the best of four arms, of mean rewards
// 0 to 3 with noise, ends up chosen nearly always.
func TestLearnsBandit(t *testing.T) {
	in := learn.Input{Shape: []int{1}, Actions: moves}
	p, l := newLearner(t, in, nil, small(nil))
	o := policy.Observation{Features: []float32{1}, Actions: moves}
	for iteration := range 30 {
		s := &learn.Samples{}
		for i := range 200 {
			o.Seed = rl.Seed(9).Path(uint64(iteration), uint64(i))
			var d [1]policy.Decision
			require.NoError(t, p.Act(context.Background(), []policy.Observation{o}, d[:]))
			record(s, o, d[0])
			s.Advantage[i] = []float64{0, 1, 3, 2}[d[0].Action.Choice] - 1.5 + o.Seed.Child(7).Uniform()
		}
		_, err := l.Update(context.Background(), s, rl.Seed(iteration))
		require.NoError(t, err)
	}
	var d [1]policy.Decision
	o.Greedy = true
	require.NoError(t, p.Act(context.Background(), []policy.Observation{o}, d[:]))
	require.Equal(t, 2, d[0].Action.Choice)
	require.Greater(t, math.Exp(d[0].LogProb), 0.95)
	require.EqualValues(t, 30, p.Version())
}

// Promise: every kind of policy learns to walk a corridor: from features, from
// text, through a convolution, with a critic, with a KL term.
func TestLearnsCorridor(t *testing.T) {
	testneeds.NotShort(t)
	features := corridor{cells: 8, limit: 14}
	for name, c := range map[string]struct {
		world  corridor
		policy func(*learn.PolicyConfig)
		ppo    func(*learn.PPOConfig)
	}{
		"features": {world: features},
		"text":     {world: corridor{cells: 8, limit: 14, text: true}, policy: func(c *learn.PolicyConfig) { c.Ngrams.Unit = learn.UnitWords }},
		"convolution": {world: features, policy: func(c *learn.PolicyConfig) {
			c.Convolution, c.Activation = learn.Convolution{Filters: []int{4, 4}, Kernel: 3}, "tanh"
		}},
		"critic": {world: features, policy: func(c *learn.PolicyConfig) { c.ValueHead = true }, ppo: func(c *learn.PPOConfig) { c.ValueClip = 0.5 }},
		"kl": {world: features, ppo: func(c *learn.PPOConfig) {
			c.KLCoefficient, c.KLReference, c.AdvantageScale = 0.02, learn.ReferenceInitial, learn.ScaleWhiten
			c.Schedule = learn.Schedule{Kind: learn.ScheduleCosine, WarmUp: 2, Updates: 40, Final: 0.1}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := newLearner(t, c.world.input(), c.policy, small(c.ppo))
			_, before := c.world.play(t, p, 300, 1)
			require.Less(t, before, 0.3)
			var stats learn.Stats
			for i := range 40 {
				s, _ := c.world.play(t, p, 40, rl.Seed(2).Child(uint64(i)))
				var err error
				stats, err = l.Update(context.Background(), s, rl.Seed(i))
				require.NoError(t, err)
			}
			_, after := c.world.play(t, p, 300, 1)
			require.Greater(t, after, 0.95)
			if p.HasValue() {
				require.Greater(t, stats.ExplainedVariance, 0.2)
				require.Positive(t, stats.ValueLoss)
			}
			require.Equal(t, name == "kl", stats.ReferenceKL > 0)
		})
	}
}

// decision returns what row of s says of the decision behind it.
func decision(s *learn.Samples, row int) policy.Decision {
	return policy.Decision{Action: rl.Action{Choice: int(s.Action[row])}, LogProb: s.LogProb[row], LogitMax: s.LogitMax[row], Value: s.Value[row]}
}
