// Package policytest is the contract suite of policy.Policy: what a rollout
// relies on, whoever implements it. It is run on the embedded network and on
// policies behind a plug-in alike.
package policytest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// Subject is a policy under test.
type Subject struct {
	Policy policy.Policy
	// Observe returns the i-th of any number of different observations, with
	// the same content in each call. The suite sets Seed and Mask.
	Observe func(i int) policy.Observation
	// Slow, if set, is an observation whose decision does not come before the
	// context of its call ends.
	Slow *policy.Observation
}

// Run tests the contract:
//
//   - a decision is a function of its observation and seed: not of its place,
//     its neighbours, the calls before, those at the same time, or what the
//     decision held before;
//   - an observation is not written to;
//   - an action that the mask rules out is never taken;
//   - with named actions, log-probabilities are those of one distribution over
//     the available actions, decisions are drawn from it, and entropy is its
//     entropy, all in nats;
//   - a decision that does not come within the deadline is an error of its own,
//     retryable, and those beside it are made; a call that is cancelled returns
//     the context's error at once.
func Run(t *testing.T, s Subject) {
	t.Run("decisions do not depend on the batch", s.batchIndependence)
	t.Run("seeds decide", s.seeds)
	t.Run("concurrent calls agree", s.concurrency)
	t.Run("observations are not written to", s.readOnly)
	t.Run("nothing observed, nothing decided", s.empty)
	if s.Slow != nil {
		t.Run("a deadline is that of one decision", s.deadline)
		t.Run("a cancelled call ends", s.cancelled)
	}
	if len(s.Observe(0).Actions) > 0 {
		t.Run("the mask is respected", s.mask)
		t.Run("log-probabilities are a distribution", s.distribution)
	}
}

// observations returns n observations, of which a third have the first action
// masked, if there is another.
func (s Subject) observations(n int) []policy.Observation {
	list := make([]policy.Observation, n)
	for i := range list {
		list[i] = s.Observe(i)
		list[i].Seed = rl.Seed(99).Child(uint64(i))
		list[i].Mask = nil
		if actions := len(list[i].Actions); i%3 == 1 && actions > 1 {
			list[i].Mask = slices.Repeat([]byte{1}, actions)
			list[i].Mask[0] = 0
		}
	}
	return list
}

func (s Subject) act(t testing.TB, observations []policy.Observation) []policy.Decision {
	decisions := make([]policy.Decision, len(observations))
	require.NoError(t, s.Policy.Act(context.Background(), observations, decisions))
	return decisions
}

func (s Subject) batchIndependence(t *testing.T) {
	const n = 150
	list := s.observations(n)
	alone := make([]policy.Decision, n)
	for i := range list {
		alone[i] = s.act(t, list[i:i+1])[0]
	}
	for _, size := range []int{2, 3, 7, 63, 64, 65, n} {
		for from := 0; from < n; from += size {
			to := min(from+size, n)
			require.Equal(t, alone[from:to], s.act(t, list[from:to]), "rows %d to %d", from, to)
		}
	}
	slices.Reverse(list)
	slices.Reverse(alone)
	stale := slices.Repeat([]policy.Decision{{Raw: "stale", LogProb: 7, Value: 7, HasValue: true, Stop: rl.StopPolicyEnded, LogitMax: 7}}, n)
	require.NoError(t, s.Policy.Act(context.Background(), list, stale))
	require.Equal(t, alone, stale)
}

func (s Subject) seeds(t *testing.T) {
	list := s.observations(40)
	first := s.act(t, list)
	require.Equal(t, first, s.act(t, list), "the same seeds give the same decisions")
	version := s.Policy.Version()
	for i := range list {
		list[i].Seed = list[i].Seed.Child(1)
	}
	s.act(t, list)
	require.Equal(t, version, s.Policy.Version(), "acting does not change the version")
}

func (s Subject) concurrency(t *testing.T) {
	list := s.observations(70)
	want := s.act(t, list)
	var callers sync.WaitGroup
	got := make([][]policy.Decision, 8)
	errs := make([]error, len(got))
	for i := range got {
		callers.Go(func() {
			got[i] = make([]policy.Decision, len(list))
			for range 5 {
				if err := s.Policy.Act(context.Background(), list, got[i]); err != nil {
					errs[i] = err
				}
			}
		})
	}
	callers.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		require.Equal(t, want, got[i])
	}
}

func (s Subject) readOnly(t *testing.T) {
	list, want := s.observations(9), s.observations(9)
	for i := range list {
		list[i].Features, list[i].Actions = slices.Clone(list[i].Features), slices.Clone(list[i].Actions)
	}
	s.act(t, list)
	require.Equal(t, want, list)
}

func (s Subject) empty(t *testing.T) {
	require.NoError(t, s.Policy.Act(context.Background(), nil, nil))
}

func (s Subject) deadline(t *testing.T) {
	list := s.observations(3)
	want := s.act(t, list)
	list[1] = *s.Slow
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	decisions := make([]policy.Decision, len(list))
	require.NoError(t, s.Policy.Act(ctx, list, decisions))
	late := decisions[1].Err
	require.ErrorIs(t, late, fault.Of("", fault.Timeout))
	require.True(t, fault.Retryable(late))
	require.Equal(t, want[0], decisions[0])
	require.Equal(t, want[2], decisions[2])
}

func (s Subject) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Policy.Act(ctx, []policy.Observation{*s.Slow}, make([]policy.Decision, 1)) }()
	s.act(t, s.observations(2)) // nobody waits for it
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	s.act(t, s.observations(2))
}

func (s Subject) mask(t *testing.T) {
	o := s.Observe(0)
	for only := range o.Actions {
		o.Mask = make([]byte, len(o.Actions))
		o.Mask[only] = 1
		for seed := range 20 {
			o.Seed = rl.Seed(seed)
			d := s.act(t, []policy.Observation{o})[0]
			require.Equal(t, rl.Action{Kind: rl.ActionChoice, Choice: only, Text: o.Actions[only]}, d.Action)
			require.InDelta(t, 0, d.LogProb, 1e-6, "the only available action is certain")
			require.InDelta(t, 0, d.Entropy, 1e-6)
		}
	}
}

func (s Subject) distribution(t *testing.T) {
	const draws = 4000
	for i, o := range s.observations(6) {
		t.Run(fmt.Sprintf("observation %d", i), func(t *testing.T) {
			list := slices.Repeat([]policy.Observation{o}, draws)
			for k := range list {
				list[k].Seed = rl.Seed(5).Path(uint64(i), uint64(k))
			}
			count := make([]int, len(o.Actions))
			logProb := make([]float64, len(o.Actions))
			decisions := s.act(t, list)
			for _, d := range decisions {
				a := d.Action.Choice
				require.True(t, o.Mask == nil || o.Mask[a] == 1, "action %d was not available", a)
				require.Equal(t, o.Actions[a], d.Action.Text)
				require.Equal(t, decisions[0].Entropy, d.Entropy)
				if count[a] > 0 {
					require.Equal(t, logProb[a], d.LogProb, "one action, one log-probability")
				}
				count[a]++
				logProb[a] = d.LogProb
			}
			checkDistribution(t, o, count, logProb, decisions[0].Entropy)
		})
	}
}

// checkDistribution compares what was drawn with what was said of it. Actions
// never drawn hold what the others leave of the probability.
func checkDistribution(t *testing.T, o policy.Observation, count []int, logProb []float64, entropy float64) {
	draws, total, seen, available := 0, 0.0, 0, 0
	sum := 0.0
	for a, n := range count {
		draws += n
		if o.Mask == nil || o.Mask[a] == 1 {
			available++
		}
		if n > 0 {
			p := math.Exp(logProb[a])
			total += p
			sum -= p * logProb[a]
			seen++
		}
	}
	require.LessOrEqual(t, total, 1+1e-6)
	require.GreaterOrEqual(t, entropy, sum-1e-6)
	require.LessOrEqual(t, entropy, math.Log(float64(available))+1e-6)
	if seen == available {
		require.InDelta(t, 1, total, 1e-6)
		require.InDelta(t, sum, entropy, 1e-6)
	}
	for a, n := range count {
		if n == 0 {
			continue
		}
		p := math.Exp(logProb[a])
		deviation := math.Sqrt(p * (1 - p) / float64(draws))
		require.InDelta(t, p, float64(n)/float64(draws), 6*deviation+1e-9, "frequency of action %d", a)
	}
}
