package learn_test

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/rl"
)

var world = corridor{cells: 8, limit: 14}

// full is a learner that uses everything that has a state.
func full(t testing.TB) (*learn.Policy, *learn.Learner) {
	return newLearner(t, world.input(), func(c *learn.PolicyConfig) { c.ValueHead = true }, small(func(c *learn.PPOConfig) {
		c.Minibatch, c.KLCoefficient, c.KLReference = 300, 0.05, learn.ReferenceInitial
		c.Schedule = learn.Schedule{Kind: learn.ScheduleLinear, WarmUp: 2, Updates: 6}
		c.EntropySchedule = learn.Schedule{Kind: learn.ScheduleCosine, Updates: 6}
		c.KLControl.Target = 0.01
	}))
}

func train(t testing.TB, p *learn.Policy, l *learn.Learner, from, to int) {
	for i := from; i < to; i++ {
		s, _ := world.play(t, p, 40, rl.Seed(2).Child(uint64(i)))
		_, err := l.Update(context.Background(), s, rl.Seed(i))
		require.NoError(t, err)
	}
}

// Promise: the parameters after training have the same bits in every run and
// at any number of processors.
func TestSameBitsAtAnyParallelism(t *testing.T) {
	var want []float32
	for _, procs := range []int{1, 2, 2, 3} {
		before := runtime.GOMAXPROCS(procs)
		p, l := full(t)
		train(t, p, l, 0, 4)
		runtime.GOMAXPROCS(before)
		if want == nil {
			want = slices.Clone(p.Params())
		}
		require.Equal(t, want, p.Params(), "%d processors", procs)
	}
}

// Promise: so do those of the surrogates that look at a whole minibatch.
func TestSurrogatesAtAnyParallelism(t *testing.T) {
	for _, name := range []learn.SurrogateKind{"sapo", "gmpo", "clip_cov", "kl_cov"} {
		var want []float32
		for _, procs := range []int{1, 3} {
			before := runtime.GOMAXPROCS(procs)
			p, err := learn.NewPolicy(learn.DefaultPolicyConfig(), world.input(), 3)
			require.NoError(t, err)
			l, err := learn.NewLearner(learn.DefaultConfig(), small(func(c *learn.PPOConfig) {
				c.Surrogate, c.Ratio, c.CovShare, c.CovLow = name, learn.RatioSequence, 0.1, 0.1
			}), p)
			require.NoError(t, err)
			train(t, p, l, 0, 3)
			require.NoError(t, l.Close())
			runtime.GOMAXPROCS(before)
			if want == nil {
				want = slices.Clone(p.Params())
			}
			require.Equal(t, want, p.Params(), "%s, %d processors", name, procs)
		}
	}
}

// Promise: a learner that is saved, encoded, decoded and restored in a new
// process continues with the same bits as an uninterrupted one.
func TestResumeEqualsUninterrupted(t *testing.T) {
	p, l := full(t)
	train(t, p, l, 0, 3)
	saved, err := l.Snapshot().MarshalBinary()
	require.NoError(t, err)
	train(t, p, l, 3, 6)

	p2, l2 := full(t)
	train(t, p2, l2, 0, 1) // whatever it did before is gone
	var state learn.State
	require.NoError(t, state.UnmarshalBinary(saved))
	require.NoError(t, l2.Restore(state))
	require.EqualValues(t, 3, p2.Version())
	train(t, p2, l2, 3, 6)
	require.Equal(t, l.Snapshot(), l2.Snapshot())
	require.NotEqual(t, 0.05, l.Snapshot().KLCoefficient, "the controller moved")
}

// Promise: a state from before there were controllers loads, and they begin
// with the coefficient of the settings.
func TestStateWithoutController(t *testing.T) {
	p, l := full(t)
	train(t, p, l, 0, 2)
	old := l.Snapshot()
	old.KLCoefficient = 0
	saved, err := old.MarshalBinary()
	require.NoError(t, err)
	require.EqualValues(t, 1, saved[7], "the version that any reader knows")
	var state learn.State
	require.NoError(t, state.UnmarshalBinary(saved))
	require.NoError(t, l.Restore(state))
	require.Equal(t, 0.05, l.Snapshot().KLCoefficient)
}

// Promise: a snapshot is a copy, and a policy alone can take its parameters.
func TestLoadIntoPolicy(t *testing.T) {
	p, l := full(t)
	train(t, p, l, 0, 1)
	state := l.Snapshot()
	want := slices.Clone(p.Params())
	train(t, p, l, 1, 2)
	require.Equal(t, want, state.Params)
	fresh, _ := full(t)
	require.NoError(t, fresh.Load(state))
	require.Equal(t, want, fresh.Params())
	require.EqualValues(t, 1, fresh.Version())
}

// Promise: a state of another architecture, of wrong length, with numbers that
// are not finite, or without the reference that the settings need, is refused
// with both sides named, and changes nothing.
func TestStateThatDoesNotFit(t *testing.T) {
	p, l := full(t)
	before := slices.Clone(p.Params())
	_, other := newLearner(t, world.input(), nil, small(nil))
	err := l.Restore(other.Snapshot())
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
	require.ErrorContains(t, err, "value_head: false, this policy has true")

	for name, c := range map[string]struct {
		spoil func(*learn.State)
		kind  fault.Kind
	}{
		"short":        {func(s *learn.State) { s.Second = s.Second[1:] }, fault.Corrupt},
		"infinite":     {func(s *learn.State) { s.First[3] = float32(math.Inf(1)) }, fault.Numeric},
		"coefficient":  {func(s *learn.State) { s.KLCoefficient = math.NaN() }, fault.Numeric},
		"no reference": {func(s *learn.State) { s.Reference = nil }, fault.Missing},
	} {
		s := l.Snapshot()
		s.Params[0]++
		c.spoil(&s)
		require.ErrorIs(t, l.Restore(s), fault.Of(fault.Learner, c.kind), name)
		require.Equal(t, before, p.Params())
	}
}

// Promise: an update that meets a number that is not finite, in the samples or
// only in the loss, is a typed error, and policy, optimizer and version are as
// before; so is one that is interrupted.
func TestFailedUpdateChangesNothing(t *testing.T) {
	p, l := full(t)
	train(t, p, l, 0, 1)
	before := l.Snapshot()
	for name, spoil := range map[string]func(*learn.Samples){
		"advantage is not a number":     func(s *learn.Samples) { s.Advantage[3] = math.NaN() },
		"return is infinite":            func(s *learn.Samples) { s.Return[3] = math.Inf(1) },
		"feature is not a number":       func(s *learn.Samples) { s.Features[3][0] = float32(math.NaN()) },
		"ratio overflows in the middle": func(s *learn.Samples) { s.LogProb[3], s.Advantage[3] = -1e5, -1 },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := world.play(t, p, 40, 77)
			spoil(s)
			_, err := l.Update(context.Background(), s, 1)
			require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Numeric))
			require.NotEmpty(t, fault.As(err).Hint)
			require.Equal(t, before, l.Snapshot())
		})
	}
	s, _ := world.play(t, p, 40, 77)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.Update(ctx, s, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Interrupted))
	require.Equal(t, before, l.Snapshot())

	_, err = l.Update(context.Background(), s, 1)
	require.NoError(t, err, "the learner goes on")
}

// Promise: samples that do not fit the policy are refused by column and row.
func TestSamplesThatDoNotFit(t *testing.T) {
	p, l := full(t)
	for want, spoil := range map[string]func(*learn.Samples){
		"weight: there are 3 rows":    func(s *learn.Samples) { s.Weight = s.Weight[:3] },
		"value: there are 0 rows":     func(s *learn.Samples) { s.Value = nil },
		"row 2: samples: features: 1": func(s *learn.Samples) { s.Features[2] = s.Features[2][:1] },
		"row 2: samples: action":      func(s *learn.Samples) { s.Action[2] = 3 },
		"row 2: samples: mask":        func(s *learn.Samples) { s.Mask[2] = []byte{0, 0, 0} },
		"row 2: samples: weight":      func(s *learn.Samples) { s.Weight[2] = -1 },
	} {
		s, _ := world.play(t, p, 10, 1)
		spoil(s)
		_, err := l.Update(context.Background(), s, 1)
		require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
		require.ErrorContains(t, err, want)
	}
}

// Promise: a row of weight 0 leaves no trace, and a batch of such rows is an
// update that changes the version only.
func TestWeightZero(t *testing.T) {
	p, l := full(t)
	p2, l2 := full(t)
	s, _ := world.play(t, p, 40, 1)
	_, err := l.Update(context.Background(), s, 1)
	require.NoError(t, err)

	s2, _ := world.play(t, p2, 40, 1)
	o := world.observe(3)
	s2.Features, s2.Text, s2.Mask = append(s2.Features, o.Features), append(s2.Text, ""), append(s2.Mask, nil)
	s2.Action, s2.LogProb, s2.LogitMax, s2.Value = append(s2.Action, 1), append(s2.LogProb, -1), append(s2.LogitMax, 0), append(s2.Value, 5)
	s2.Weight, s2.Advantage, s2.Return = append(s2.Weight, 0), append(s2.Advantage, 1e6), append(s2.Return, 9)
	_, err = l2.Update(context.Background(), s2, 1)
	require.NoError(t, err)
	require.Equal(t, p.Params(), p2.Params())

	clear(s2.Weight)
	stats, err := l2.Update(context.Background(), s2, 1)
	require.NoError(t, err)
	require.Zero(t, stats.Rows)
	require.Zero(t, stats.Minibatches)
	require.Equal(t, p.Params(), p2.Params())
	require.EqualValues(t, 2, p2.Version())
}

// Promise: an action that is never available gets no gradient: its output
// weights and bias stay as they were.
func TestMaskedActionIsNotLearned(t *testing.T) {
	p, l := newLearner(t, world.input(), nil, small(nil))
	s, _ := world.play(t, p, 60, 1)
	kept := &learn.Samples{}
	for row, a := range s.Action {
		if a != 2 {
			o := world.observe(0)
			o.Features, o.Mask = s.Features[row], []byte{1, 1, 0}
			record(kept, o, decision(s, row))
			kept.Advantage[kept.Len()-1] = s.Advantage[row]
		}
	}
	before := slices.Clone(p.Params())
	_, err := l.Update(context.Background(), kept, 1)
	require.NoError(t, err)
	output := len(before) - 16*3 - 3
	changed := 0
	for i := output; i < len(before); i++ {
		if (i-output)%3 == 2 {
			require.Equal(t, before[i], p.Params()[i])
		} else if before[i] != p.Params()[i] {
			changed++
		}
	}
	require.Greater(t, changed, 20)
}

// Promise: equal states have equal bytes, and what is not a state is refused
// with a typed error, whatever the bytes.
func FuzzState(f *testing.F) {
	seed := learn.State{Architecture: `{"hidden":[2]}`, Updates: 3, Steps: 12, Params: []float32{1, 2}, First: []float32{3, 4}, Second: []float32{5, 6}}
	short, err := seed.MarshalBinary()
	require.NoError(f, err)
	seed.Reference = []float32{7, 8}
	long, err := seed.MarshalBinary()
	require.NoError(f, err)
	seed.KLCoefficient = 0.25
	controlled, err := seed.MarshalBinary()
	require.NoError(f, err)
	f.Add(short)
	f.Add(long)
	f.Add(controlled)
	f.Add(long[:len(long)-1])
	f.Add(append(bytes.Clone(long), 0))
	f.Add([]byte("MERITNN\x02"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s learn.State
		if err := s.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt))
			require.Equal(t, learn.State{}, s)
			return
		}
		again, err := s.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}
