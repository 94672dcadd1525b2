package learn_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

var gorgonia = learn.Config{Backend: learn.BackendGorgonia}

// pair makes two equal policies, learned by the kernels and by gorgonia.
func pair(t *testing.T, cfg learn.PolicyConfig, in learn.Input, ppo learn.PPOConfig) (p [2]*learn.Policy, l [2]*learn.Learner) {
	for i, how := range []learn.Config{learn.DefaultConfig(), gorgonia} {
		var err error
		p[i], err = learn.NewPolicy(cfg, in, 3)
		require.NoError(t, err)
		l[i], err = learn.NewLearner(how, ppo, p[i])
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l[i].Close()) })
	}
	return p, l
}

// Promise: on everything that both backends take, loss, divergence, norm and
// parameters after six optimizer steps are within 1e-5 of each other: every
// surrogate, ratio, KL term, loss of the critic and kind of layer.
func TestBackendsAreEqual(t *testing.T) {
	testneeds.NotShort(t)
	for name, set := range map[string]func(*learn.PolicyConfig, *learn.PPOConfig){
		"plain":       func(*learn.PolicyConfig, *learn.PPOConfig) {},
		"linear":      func(p *learn.PolicyConfig, _ *learn.PPOConfig) { p.Hidden = nil },
		"tanh":        func(p *learn.PolicyConfig, _ *learn.PPOConfig) { p.Activation = "tanh" },
		"sigmoid":     func(p *learn.PolicyConfig, _ *learn.PPOConfig) { p.Activation = "sigmoid" },
		"silu":        func(p *learn.PolicyConfig, _ *learn.PPOConfig) { p.Activation = "silu" },
		"convolution": func(p *learn.PolicyConfig, _ *learn.PPOConfig) { p.Convolution.Filters = []int{4, 3} },
		"huber":       func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.ValueHuber, c.ValueClip = 0.3, 0.2 },
		"dual clip":   func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.DualClip = 1.5 },
		"cispo":       func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.Surrogate = learn.SurrogateCISPO },
		"sapo":        func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.Surrogate = "sapo" },
		"gmpo":        func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.Surrogate, c.Ratio = "gmpo", learn.RatioSequence },
		"clip-cov": func(_ *learn.PolicyConfig, c *learn.PPOConfig) {
			c.Surrogate, c.CovShare, c.CovLow = "clip_cov", 0.1, 0.1
		},
		"kl-cov": func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.Surrogate, c.CovShare = "kl_cov", 0.1 },
		"gspo":   func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.Ratio = learn.RatioSequence },
		"k1":     func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.KLCoefficient, c.KLEstimator = 0.2, learn.KLK1 },
		"k2":     func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.KLCoefficient, c.KLEstimator = 0.2, learn.KLK2 },
		"k3 in the reward": func(_ *learn.PolicyConfig, c *learn.PPOConfig) {
			c.KLCoefficient, c.KLIn, c.KLReference = 0.2, learn.KLInReward, learn.ReferenceInitial
		},
		"accumulated": func(_ *learn.PolicyConfig, c *learn.PPOConfig) { c.Accumulate, c.Minibatch = 2, 100 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg, ppo := learn.DefaultPolicyConfig(), learn.DefaultPPOConfig()
			cfg.Hidden, cfg.ValueHead = []int{16, 16}, true
			ppo.LearningRate, ppo.AdamEpsilon, ppo.AdvantageScale = 1e-3, 1e-4, learn.ScaleRMS
			set(&cfg, &ppo)
			p, l := pair(t, cfg, world.input(), ppo)
			for update := range 3 {
				s, _ := world.play(t, p[0], 20, rl.Seed(update))
				var stats [2]learn.Stats
				for i := range l {
					var err error
					stats[i], err = l[i].Update(context.Background(), s, rl.Seed(update))
					require.NoError(t, err)
				}
				require.InDelta(t, stats[0].Loss, stats[1].Loss, 1e-5)
				require.InDelta(t, stats[0].ValueLoss, stats[1].ValueLoss, 1e-5)
				require.InDelta(t, stats[0].KL, stats[1].KL, 1e-5)
				require.InDelta(t, stats[0].GradNorm, stats[1].GradNorm, 1e-5)
				for i, x := range p[0].Params() {
					require.InDelta(t, x, p[1].Params()[i], 1e-5, "parameter %d after update %d", i, update)
				}
			}
		})
	}
}

// modern is a network that only gorgonia trains.
func modern(activation string) learn.PolicyConfig {
	cfg := learn.DefaultPolicyConfig()
	cfg.Hidden, cfg.Activation, cfg.ValueHead, cfg.LayerNorm, cfg.Residual = []int{16, 16, 16}, activation, true, true, true
	return cfg
}

// Promise: with each activation that only gorgonia differentiates, layer norm
// and residuals, a policy learns to walk the corridor.
func TestGorgoniaLearnsCorridor(t *testing.T) {
	testneeds.Slow(t, "trains with gorgonia for seconds")
	for _, activation := range []string{"gelu", "leaky_relu", "softplus", "mish"} {
		t.Run(activation, func(t *testing.T) {
			p, err := learn.NewPolicy(modern(activation), world.input(), 3)
			require.NoError(t, err)
			l, err := learn.NewLearner(gorgonia, small(func(c *learn.PPOConfig) { c.ValueHuber = 1 }), p)
			require.NoError(t, err)
			_, before := world.play(t, p, 100, 1)
			train(t, p, l, 0, 25)
			_, after := world.play(t, p, 100, 1)
			require.NoError(t, l.Close())
			require.Less(t, before, 0.5)
			require.Greater(t, after, 0.95)
		})
	}
}

// Promise: gorgonia's parameters have the same bits in every run, at any number
// of processors, and after a resumption from a saved state.
func TestGorgoniaIsDeterministicAndResumes(t *testing.T) {
	testneeds.NotShort(t)
	play := func(procs int, interrupted bool) []float32 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		a := agent(t)
		for i := range 4 {
			if i == 2 && interrupted {
				saved, err := a.Save(context.Background(), "")
				require.NoError(t, err)
				require.NoError(t, a.Close())
				a = agent(t)
				require.NoError(t, a.Load(context.Background(), saved))
			}
			s, _ := world.play(t, a, 40, rl.Seed(i))
			_, err := learn.Update(a, s, rl.Seed(i))
			require.NoError(t, err)
		}
		require.NoError(t, a.Close())
		return a.Params()
	}
	want := play(1, false)
	for _, procs := range []int{1, 2, 3} {
		require.Equal(t, want, play(procs, false), "%d processors", procs)
	}
	require.Equal(t, want, play(2, true), "resumed")
}

func agent(t *testing.T) *learn.Agent {
	ppo := small(nil)
	a, err := learn.NewAgent(modern("gelu"), gorgonia, &ppo, world.input(), 5)
	require.NoError(t, err)
	return a
}

// Promise: the kernels refuse a network that they cannot differentiate and say
// what does, and a state of another architecture is an error that names what differs.
func TestNetworksOfTheOtherBackend(t *testing.T) {
	cfg := modern("mish")
	p, err := learn.NewPolicy(cfg, world.input(), 3)
	require.NoError(t, err)
	_, err = learn.NewLearner(learn.DefaultConfig(), small(nil), p)
	require.ErrorContains(t, err, "learner.backend: the kernels cannot differentiate a network with policy.activation and policy.layer_norm and policy.residual")
	require.Len(t, learn.DefaultConfig().Takes(cfg), 3)
	require.Empty(t, gorgonia.Takes(cfg))
	require.Equal(t, []string{"kernels", "gorgonia"}, fault.As(learn.Config{Backend: "torch"}.Validate()[0]).Allowed)

	plain := cfg
	plain.LayerNorm = false
	q, err := learn.NewPolicy(plain, world.input(), 3)
	require.NoError(t, err)
	err = q.Load(learn.State{Architecture: p.Architecture(), Params: p.Params()})
	require.ErrorContains(t, err, "layer_norm: true, this policy has none")
}

// Rows per second of an update of the quickstart's network, by backend.
func BenchmarkBackends(b *testing.B) {
	in := learn.Input{Shape: []int{7, 7, 3}, Actions: []string{"up", "down", "left", "right"}}
	const rows = 4096
	s := &learn.Samples{}
	for i := range rows {
		features := make([]float32, 147)
		for j := i % 6; j < len(features); j += 6 {
			features[j] = 1
		}
		s.Features, s.Mask = append(s.Features, features), append(s.Mask, nil)
		s.Action, s.LogProb, s.LogitMax = append(s.Action, int32(i%4)), append(s.LogProb, -math.Log(4)), append(s.LogitMax, 0)
		s.Weight, s.Advantage = append(s.Weight, 1), append(s.Advantage, float64(i%3-1))
	}
	for _, how := range []learn.Config{learn.DefaultConfig(), gorgonia} {
		b.Run(fmt.Sprint(how.Backend), func(b *testing.B) {
			p, err := learn.NewPolicy(learn.DefaultPolicyConfig(), in, 1)
			require.NoError(b, err)
			l, err := learn.NewLearner(how, learn.DefaultPPOConfig(), p)
			require.NoError(b, err)
			defer func() { require.NoError(b, l.Close()) }()
			for b.Loop() {
				_, err := l.Update(context.Background(), s, 1)
				require.NoError(b, err)
			}
			b.ReportMetric(2*rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
