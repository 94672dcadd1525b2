package learn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/policytest"
)

var moves = []string{"up", "down", "left", "right"}

func newPolicy(t testing.TB, in learn.Input, change func(*learn.PolicyConfig)) *learn.Policy {
	cfg := learn.DefaultPolicyConfig()
	cfg.InitLast = 1 // a policy with opinions
	if change != nil {
		change(&cfg)
	}
	p, err := learn.NewPolicy(cfg, in, 3)
	require.NoError(t, err)
	return p
}

// observer returns observations of random sparse planes, or of random boards
// as text.
func observer(in learn.Input) func(int) policy.Observation {
	return func(i int) policy.Observation {
		o := policy.Observation{Actions: in.Actions}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		size := 1
		for _, d := range in.Shape {
			size *= d
		}
		if len(in.Shape) == 0 {
			var b strings.Builder
			for range 7 {
				for range 7 {
					b.WriteByte("#.$@ "[random.IntN(5)])
				}
				b.WriteByte('\n')
			}
			o.Text = b.String()
			return o
		}
		o.Features = make([]float32, size)
		for k := range o.Features {
			if random.IntN(4) == 0 {
				o.Features[k] = 1
			}
		}
		return o
	}
}

// Promise: the embedded policy keeps the contract of policy.Policy, whatever
// it reads and however it is built.
func TestContract(t *testing.T) {
	testneeds.NotShort(t)
	planes, text := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}, learn.Input{Actions: moves}
	for name, c := range map[string]struct {
		in     learn.Input
		change func(*learn.PolicyConfig)
	}{
		"features":     {planes, nil},
		"wide layers":  {planes, func(c *learn.PolicyConfig) { c.Hidden = []int{300, 200} }},
		"critic, tanh": {planes, func(c *learn.PolicyConfig) { c.ValueHead, c.Activation = true, "tanh" }},
		"convolution":  {planes, func(c *learn.PolicyConfig) { c.Convolution.Filters = []int{8, 4} }},
		"linear":       {planes, func(c *learn.PolicyConfig) { c.Hidden = nil }},
		"characters":   {text, nil},
		"words":        {text, func(c *learn.PolicyConfig) { c.Ngrams.Unit, c.Activation = learn.UnitWords, "silu" }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolicy(t, c.in, c.change)
			policytest.Run(t, policytest.Subject{Policy: p, Observe: observer(c.in)})
		})
	}
}

// Promise: greedy takes the likeliest action whatever the seed, one
// observation at a time.
func TestGreedy(t *testing.T) {
	in := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}
	p := newPolicy(t, in, nil)
	for i := range 20 {
		o := observer(in)(i)
		for seed := range 20 {
			o.Seed = rl.Seed(seed)
			o.Greedy = false
			sampled := o
			o.Greedy = true
			var d [2]policy.Decision
			require.NoError(t, p.Act(context.Background(), []policy.Observation{sampled, o}, d[:]))
			require.LessOrEqual(t, d[0].LogProb, d[1].LogProb)
			require.Equal(t, d[0].Entropy, d[1].Entropy)
			o.Seed = 0
			var again [1]policy.Decision
			require.NoError(t, p.Act(context.Background(), []policy.Observation{o}, again[:]))
			require.Equal(t, again[0], d[1])
		}
	}
}

// Promise: parameters are a function of the configuration and the seed, the
// first policy is nearly uniform, and the fan-in and scale are those asked for.
func TestInitialParameters(t *testing.T) {
	in := learn.Input{Shape: []int{147}, Actions: moves}
	cfg := learn.DefaultPolicyConfig()
	a, err := learn.NewPolicy(cfg, in, 3)
	require.NoError(t, err)
	b, err := learn.NewPolicy(cfg, in, 3)
	require.NoError(t, err)
	require.Equal(t, a.Params(), b.Params())
	other, err := learn.NewPolicy(cfg, in, 4)
	require.NoError(t, err)
	require.NotEqual(t, a.Params(), other.Params())
	require.Len(t, a.Params(), 147*64+64+64*64+64+64*4+4)

	deviation := func(x []float32) (square float64) {
		for _, v := range x {
			square += float64(v) * float64(v) / float64(len(x))
		}
		return square
	}
	require.InEpsilon(t, 2.0/24, deviation(a.Params()[:147*64]), 0.05)
	cfg.InitFanIn, cfg.InitScale = 0, 2
	wide, err := learn.NewPolicy(cfg, in, 3)
	require.NoError(t, err)
	require.InEpsilon(t, 4*2.0/147, deviation(wide.Params()[:147*64]), 0.05)

	d := make([]policy.Decision, 1)
	require.NoError(t, a.Act(context.Background(), []policy.Observation{observer(in)(1)}, d))
	require.InDelta(t, 1.386, d[0].Entropy, 0.01)
}

// Promise: an observation that does not fit the network is a typed error that
// names the row, and so are a mask without an action and a logit that is not
// finite.
func TestObservationsThatDoNotFit(t *testing.T) {
	in := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}
	p := newPolicy(t, in, nil)
	for name, spoil := range map[string]func(*policy.Observation){
		"features":  func(o *policy.Observation) { o.Features = o.Features[1:] },
		"actions":   func(o *policy.Observation) { o.Actions = o.Actions[1:] },
		"mask":      func(o *policy.Observation) { o.Mask = []byte{1} },
		"no action": func(o *policy.Observation) { o.Mask = make([]byte, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			list := []policy.Observation{observer(in)(0), observer(in)(1)}
			spoil(&list[1])
			err := p.Act(context.Background(), list, make([]policy.Decision, 2))
			require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
			require.ErrorContains(t, err, "row 1")
		})
	}
	list := []policy.Observation{observer(in)(0)}
	for i := range list[0].Features {
		list[0].Features[i] = 3e38
	}
	err := p.Act(context.Background(), list, make([]policy.Decision, 1))
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Numeric))
}

// Promise: every mistake in the policy's configuration is found at once, with
// its key and a hint; a network that the environment cannot feed is an error.
func TestPolicyConfigProblems(t *testing.T) {
	require.Empty(t, learn.DefaultPolicyConfig().Validate())
	bad := learn.PolicyConfig{
		Hidden: []int{64, 0}, Activation: "step", Convolution: learn.Convolution{Filters: []int{-1}, Kernel: 2},
		Ngrams: learn.Ngrams{Min: 3, Max: 2, Unit: "bytes"}, InitScale: -1, InitFanIn: -1, InitLast: -1,
	}
	var keys []string
	for _, err := range bad.Validate() {
		f := fault.As(err)
		require.NotEmpty(t, f.Hint)
		keys = append(keys, f.Where)
	}
	require.ElementsMatch(t, []string{
		"hidden[1]", "convolution.filters[0]", "activation", "convolution.kernel", "ngrams.dimensions", "ngrams.max",
		"ngrams.unit", "init_scale", "init_fan_in", "init_last",
	}, keys)

	cfg := learn.DefaultPolicyConfig()
	_, err := learn.NewPolicy(cfg, learn.Input{Shape: []int{4}}, 1)
	require.ErrorContains(t, err, "free-text actions")
	_, err = learn.NewPolicy(cfg, learn.Input{Shape: []int{4, 0}, Actions: moves}, 1)
	require.ErrorContains(t, err, "feature shape [4 0]")
	cfg.Convolution.Filters = []int{4}
	_, err = learn.NewPolicy(cfg, learn.Input{Shape: []int{4}, Actions: moves}, 1)
	require.ErrorContains(t, err, "not [channels rows columns]")
	cfg = learn.DefaultPolicyConfig()
	cfg.Hidden = []int{1 << 14, 1 << 14}
	_, err = learn.NewPolicy(cfg, learn.Input{Shape: []int{4}, Actions: moves}, 1)
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Exhausted))
}

// Promise: acting allocates nothing in steady state.
func TestActDoesNotAllocate(t *testing.T) {
	for name, in := range map[string]learn.Input{"features": {Shape: []int{3, 7, 7}, Actions: moves}, "text": {Actions: moves}} {
		p := newPolicy(t, in, func(c *learn.PolicyConfig) { c.ValueHead = true })
		list, decisions := make([]policy.Observation, 256), make([]policy.Decision, 256)
		for i := range list {
			list[i] = observer(in)(i)
		}
		require.Less(t, testing.AllocsPerRun(20, func() { _ = p.Act(context.Background(), list, decisions) }), 8.0, name)
	}
}

// Observations per second of the quickstart's network, by batch.
func BenchmarkAct(b *testing.B) {
	in := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}
	p := newPolicy(b, in, nil)
	for _, n := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list, decisions := make([]policy.Observation, n), make([]policy.Decision, n)
			for i := range list {
				list[i] = observer(in)(i)
			}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, p.Act(context.Background(), list, decisions))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "obs/s")
		})
	}
}
