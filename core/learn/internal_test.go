package learn

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
	"github.com/merit-rl/merit/core/learn/internal/reference"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// sampled returns n rows that p acted on, with random credit.
func sampled(t testing.TB, p *Policy, n int) *Samples {
	random := rand.New(rand.NewPCG(5, uint64(n)))
	s := &Samples{}
	observations, decisions := make([]policy.Observation, n), make([]policy.Decision, n)
	for i := range observations {
		x := make([]float32, p.net.Inputs)
		for k := range x {
			if random.IntN(3) == 0 {
				x[k] = 1
			}
		}
		mask := slices.Repeat([]byte{1}, len(p.actions))
		mask[random.IntN(len(mask))] = 0
		observations[i] = policy.Observation{Features: x, Mask: mask, Actions: p.actions, Seed: rl.Seed(i)}
		s.Features, s.Mask = append(s.Features, x), append(s.Mask, mask)
	}
	require.NoError(t, p.Act(context.Background(), observations, decisions))
	for _, d := range decisions {
		s.Action, s.LogProb, s.LogitMax = append(s.Action, int32(d.Action.Choice)), append(s.LogProb, d.LogProb), append(s.LogitMax, d.LogitMax)
		s.Value, s.Return = append(s.Value, d.Value), append(s.Return, random.NormFloat64())
		s.Advantage, s.Weight = append(s.Advantage, random.NormFloat64()), append(s.Weight, float64(1+random.IntN(2)))
		s.Sequence = append(s.Sequence, int32(len(s.Sequence)/7))
	}
	return s
}

func quickstart(t testing.TB, value bool) *Policy {
	cfg := DefaultPolicyConfig()
	cfg.ValueHead, cfg.InitLast = value, 0.5
	p, err := NewPolicy(cfg, Input{Shape: []int{3, 7, 7}, Actions: []string{"up", "down", "left", "right"}}, 1)
	require.NoError(t, err)
	return p
}

// Promise: what an update computes of a minibatch, through shards, padding,
// masks and weights, is the objective and the gradient of the reference, with
// every surrogate and term in it; the statistics say so too.
func TestUpdateMatchesReference(t *testing.T) {
	testneeds.NotShort(t)
	for name, set := range map[string]func(*PPOConfig){
		"clip":   func(*PPOConfig) {},
		"dual":   func(c *PPOConfig) { c.DualClip, c.KLEstimator = 1.3, KLK2 },
		"gspo":   func(c *PPOConfig) { c.Ratio, c.ClipLow, c.ClipHigh = RatioSequence, 0.05, 0.05 },
		"cispo":  func(c *PPOConfig) { c.Surrogate, c.KLEstimator = SurrogateCISPO, KLK1 },
		"course": func(c *PPOConfig) { c.EntropySchedule = Schedule{Kind: ScheduleLinear, WarmUp: 2, Updates: 9} },
	} {
		t.Run(name, func(t *testing.T) { updateMatchesReference(t, set) })
	}
}

func updateMatchesReference(t *testing.T, set func(*PPOConfig)) {
	p := quickstart(t, true)
	s := sampled(t, p, 501)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range p.params { // the policy has moved on since it acted
		p.params[i] += float32(0.05 * random.NormFloat64())
	}
	cfg := DefaultPPOConfig()
	cfg.Epochs, cfg.Minibatch, cfg.KLCoefficient, cfg.Entropy, cfg.ValueClip = 1, 600, 0.2, 0.1, 0.3
	set(&cfg)
	l, err := NewLearner(DefaultConfig(), cfg, p)
	require.NoError(t, err)
	b, err := l.prepare(s)
	require.NoError(t, err)
	l.objective = l.terms()
	order := b.order(3)

	rows := loss.NewRows(len(b.rows), p.net.Inputs, p.net.Actions)
	b.fill(rows, order, 0, len(b.rows), 1/float64(len(b.rows)))
	params := make([]float64, len(p.params))
	for i, v := range p.params {
		params[i] = float64(v)
	}
	want := reference.Gradient(p.net, params, l.objective, rows)

	sums := newSums(b, l, 1)
	require.NoError(t, l.engine.start(len(order)))
	gradient, _, err := l.engine.gradient(b, order, len(order), false)
	require.NoError(t, err)
	l.engine.stop()
	for j, row := range order {
		sums.row(b, row, l.engine.found, j)
	}
	var norm float64
	for i, g := range gradient {
		require.InDelta(t, want.Gradient[i], g, 1e-6)
		norm += want.Gradient[i] * want.Gradient[i]
	}
	sums.step(math.Sqrt(norm))
	stats := sums.stats()
	require.InDelta(t, want.Loss, stats.Loss, 1e-6)
	require.Equal(t, 501, stats.Rows)
	require.Greater(t, stats.ClipFraction, 0.01)
	require.Greater(t, stats.KL, 0.001)
	require.Equal(t, cfg.DualClip > 0, stats.DualClipFraction > 0)
	require.Equal(t, 0.2, stats.KLCoefficient)
	if cfg.KLEstimator == KLK3 {
		require.InDelta(t, stats.PolicyLoss-stats.EntropyWeight*stats.Entropy+0.2*stats.ReferenceKL+0.5*stats.ValueLoss, stats.Loss, 1e-7)
	}

	updated, err := l.Update(context.Background(), s, 3)
	require.NoError(t, err)
	require.InDelta(t, math.Sqrt(norm), updated.GradNorm, 1e-5)
	require.InDelta(t, want.Loss, updated.Loss, 1e-6)
}

// Promise: at the parameters that acted, ratios are 1: no divergence, nothing
// clipped.
func TestOnPolicyRatioIsOne(t *testing.T) {
	p := quickstart(t, false)
	cfg := DefaultPPOConfig()
	cfg.Epochs, cfg.LearningRate = 1, 1e-9
	l, err := NewLearner(DefaultConfig(), cfg, p)
	require.NoError(t, err)
	stats, err := l.Update(context.Background(), sampled(t, p, 300), 1)
	require.NoError(t, err)
	require.Less(t, stats.KL, 1e-10)
	require.Zero(t, stats.ClipFraction)
}

// Promise: an epoch is a permutation of all rows, cut into minibatches of equal
// size; a tail is never dropped and never larger than asked.
func TestMinibatchesCoverEveryRow(t *testing.T) {
	for _, n := range []int{0, 1, 2, 999, 1000, 1001, 2049} {
		order := shuffle(n, 7)
		require.Equal(t, order, shuffle(n, 7))
		if n > 10 {
			require.NotEqual(t, order, shuffle(n, 8))
		}
		var all []int
		for _, part := range split(order, 1000) {
			require.LessOrEqual(t, len(part), 1000)
			require.InDelta(t, float64(n)/float64((n+999)/1000), len(part), 1)
			all = append(all, part...)
		}
		slices.Sort(all)
		for i := range all {
			require.Equal(t, i, all[i])
		}
		require.Len(t, all, n)
	}
	for minibatch, rows := range map[int]int{1: 1, 100: 100, 128: 128, 129: 65, 256: 128, 1024: 128} {
		require.Equal(t, rows, shardRows(minibatch))
	}
}

// Promise: a minibatch of any size works, down to one row.
func TestTinyMinibatches(t *testing.T) {
	p := quickstart(t, true)
	cfg := DefaultPPOConfig()
	cfg.Minibatch = 1
	l, err := NewLearner(DefaultConfig(), cfg, p)
	require.NoError(t, err)
	stats, err := l.Update(context.Background(), sampled(t, p, 3), 1)
	require.NoError(t, err)
	require.Equal(t, 6, stats.Minibatches)
}

// Promise: advantages are scaled as configured, with the rows' weights, and
// advantages that are all alike are not blown up.
func TestAdvantageScale(t *testing.T) {
	scaled := func(scale AdvantageScale, values ...float64) []float64 {
		b := &batch{cfg: PPOConfig{AdvantageScale: scale}, advantage: values, weight: []float64{0.5, 1.5}, rows: []int{0, 1}}
		b.scale()
		return b.advantage
	}
	rms := math.Sqrt(0.25*9 + 0.75*1)
	deviation := math.Sqrt(rms*rms - 1.5*1.5)
	require.Equal(t, []float64{3 / rms, 1 / rms}, scaled(ScaleRMS, 3, 1))
	require.Equal(t, []float64{3, 1}, scaled(ScaleNone, 3, 1))
	require.InDeltaSlice(t, []float64{1.5 / deviation, -0.5 / deviation}, scaled(ScaleWhiten, 3, 1), 1e-12)
	require.Equal(t, []float64{0, 0}, scaled(ScaleRMS, 0, 0))
	require.Equal(t, []float64{0, 0}, scaled(ScaleWhiten, 2, 2))
}

// Promise: the learning rate follows the configured course.
func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		schedule Schedule
		at       []uint64
		want     []float64
	}{
		{Schedule{Kind: ScheduleConstant}, []uint64{0, 9}, []float64{1, 1}},
		{Schedule{Kind: ScheduleConstant, WarmUp: 4}, []uint64{0, 1, 3, 4, 9}, []float64{0.25, 0.5, 1, 1, 1}},
		{Schedule{Kind: ScheduleLinear, Updates: 10}, []uint64{0, 5, 10, 99}, []float64{1, 0.5, 0, 0}},
		{Schedule{Kind: ScheduleLinear, WarmUp: 2, Updates: 12, Final: 0.2}, []uint64{0, 2, 7, 12}, []float64{0.5, 1, 0.6, 0.2}},
		{Schedule{Kind: ScheduleCosine, Updates: 10, Final: 0.1}, []uint64{0, 5, 10}, []float64{1, 0.55, 0.1}},
	} {
		for i, at := range c.at {
			require.InDelta(t, c.want[i], c.schedule.Factor(at), 1e-12, "%+v at %d", c.schedule, at)
		}
	}
}

// Promise: the gradient's norm is bounded before Adam sees it, direction kept.
func TestGradientClip(t *testing.T) {
	testneeds.NotShort(t)
	first := func(clip float64) []float32 {
		p := quickstart(t, false)
		cfg := DefaultPPOConfig()
		cfg.Epochs, cfg.GradClip = 1, clip
		l, err := NewLearner(DefaultConfig(), cfg, p)
		require.NoError(t, err)
		_, err = l.Update(context.Background(), sampled(t, p, 200), 1)
		require.NoError(t, err)
		return l.adam.first
	}
	norm := func(x []float32) (s float64) {
		for _, v := range x {
			s += float64(v) * float64(v)
		}
		return math.Sqrt(s)
	}
	free, clipped := first(0), first(0.01)
	require.Greater(t, norm(free), 0.002)
	require.InEpsilon(t, 0.1*0.01, norm(clipped), 1e-4)
	for i := range free {
		require.InDelta(t, float64(free[i])/norm(free), float64(clipped[i])/norm(clipped), 1e-4)
	}
}

// Promise: every mistake in the learner's configuration is found at once, with
// its key and a hint.
func TestPPOConfigProblems(t *testing.T) {
	require.Empty(t, DefaultPPOConfig().Validate())
	var keys []string
	for _, err := range (PPOConfig{ClipLow: 2, DualClip: 1, KLControl: KLControl{Target: -1}, Entropy: -1, KLCoefficient: math.NaN(), ValueLoss: -1, ValueClip: -1, GradClip: -1, AdamBeta1: 1, AdamBeta2: -1, Schedule: Schedule{WarmUp: -1, Updates: -2, Final: 2}}).Validate() {
		require.NotEmpty(t, fault.As(err).Hint)
		keys = append(keys, fault.As(err).Where)
	}
	require.ElementsMatch(t, []string{
		"epochs", "minibatch", "accumulate", "surrogate", "tau_positive", "tau_negative", "cov_share", "ratio", "clip_low", "clip_high", "dual_clip", "entropy", "entropy_schedule.kind",
		"kl_coefficient", "kl_reference", "kl_estimator", "kl_in", "kl_control.target", "kl_control.rate", "kl_control.target",
		"value_loss", "value_clip",
		"advantage_scale", "grad_clip", "learning_rate", "schedule.kind", "schedule.warmup", "schedule.updates", "schedule.final",
		"adam_beta1", "adam_beta2", "adam_epsilon",
	}, keys)
	cfg := DefaultPPOConfig()
	cfg.Schedule.Kind, cfg.EntropySchedule.Kind = ScheduleCosine, ScheduleLinear
	_, err := NewLearner(DefaultConfig(), cfg, quickstart(t, false))
	require.ErrorContains(t, err, "the cosine schedule needs it")
	require.ErrorContains(t, err, "the linear schedule needs it")
	keys = nil
	for _, err := range (func() []error {
		c := DefaultPPOConfig()
		c.Surrogate, c.DualClip, c.KLIn, c.KLControl.Target = SurrogateCISPO, 3, KLInReward, 0.1
		return c.Validate()
	})() {
		keys = append(keys, fault.As(err).Where)
	}
	require.Equal(t, []string{"dual_clip", "kl_in", "kl_control.target"}, keys, "what does not go together")
	c := DefaultPPOConfig()
	c.Surrogate = surrogateGMPO
	require.ErrorContains(t, errors.Join(c.Validate()...), "ratio")
	c.Surrogate, c.CovLow = surrogateClipCov, 5
	require.ErrorContains(t, errors.Join(c.Validate()...), "cov_low")
	c = DefaultPPOConfig()
	c.DualClip = math.NaN()
	require.Len(t, c.Validate(), 1)
}

// Samples per second of an update: 5,000 rows of the quickstart, 2 epochs.
func BenchmarkUpdate(b *testing.B) {
	p := quickstart(b, false)
	l, err := NewLearner(DefaultConfig(), DefaultPPOConfig(), p)
	require.NoError(b, err)
	s := sampled(b, p, 5000)
	b.ReportAllocs()
	for b.Loop() {
		_, err := l.Update(context.Background(), s, 1)
		require.NoError(b, err)
	}
	b.ReportMetric(2*5000*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}

// Promise: optimizer steps allocate nothing: an update of eight times as many has
// the same few allocations for its samples and its workers.
func TestStepsAllocateNothing(t *testing.T) {
	p := quickstart(t, true)
	s := sampled(t, p, 600)
	allocations := func(minibatch int) float64 {
		cfg := DefaultPPOConfig()
		cfg.Minibatch = minibatch
		l, err := NewLearner(DefaultConfig(), cfg, p)
		require.NoError(t, err)
		return testing.AllocsPerRun(5, func() {
			_, err := l.Update(context.Background(), s, 1)
			require.NoError(t, err)
		})
	}
	few, many := allocations(400), allocations(50)
	require.InDelta(t, few, many, 4)
	require.Less(t, many, 40.0)
}

// Update lets the learner of a learn from s.
func Update(a *Agent, s *Samples, seed rl.Seed) (Stats, error) {
	return a.learner.Update(context.Background(), s, seed)
}

// Promise: the words that the configuration takes are the activations that there are.
func TestWordsAreTheActivations(t *testing.T) {
	field, _ := reflect.TypeFor[PolicyConfig]().FieldByName("Activation")
	words := fault.Words(field.Tag)
	for i, word := range words {
		require.Equal(t, word, net.Activation(i).String())
	}
	require.Panics(t, func() { _ = net.Activation(len(words)).String() })
}
