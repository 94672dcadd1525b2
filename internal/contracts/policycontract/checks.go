package policycontract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

func at(i int) string { return fmt.Sprintf("observation %d", i) }

func decides(d *driver) {
	for i, decision := range d.act(d.observations(d.some(20))) {
		d.OK(decision.Err, at(i))
		said := decision.Raw != "" || decision.Action.Kind != "" || decision.Stop != ""
		d.Require(said, at(i), "the decision has neither raw output nor an action")
		d.Require(finite(decision.LogProb) && decision.LogProb <= 1e-9, at(i), "the log-probability is %v", decision.LogProb)
		d.Require(finite(decision.Entropy) && decision.Entropy >= -1e-9, at(i), "the entropy is %v", decision.Entropy)
	}
}

func batchIndependence(d *driver) {
	n := d.some(150)
	list := d.observations(n)
	alone := make([]policy.Decision, n)
	for i := range list {
		alone[i] = d.act(list[i : i+1])[0]
	}
	for _, size := range []int{2, 3, 7, 63, 64, 65, n} {
		for from := 0; size <= n && from < n; from += size {
			to := min(from+size, n)
			d.Same(alone[from:to], d.act(list[from:to]), fmt.Sprintf("observations %d to %d", from, to-1), "when decided alone and together, decision")
		}
	}
	slices.Reverse(list)
	slices.Reverse(alone)
	stale := slices.Repeat([]policy.Decision{{Raw: "stale", LogProb: 7, Value: 7, HasValue: true, Stop: rl.StopPolicyEnded, LogitMax: 7}}, n)
	d.OK(d.Policy.Act(d.ctx, list, stale), "act")
	d.Same(alone, stale, "all observations", "in another order and with reused decisions, decision")
}

func seeds(d *driver) {
	list := d.observations(d.some(40))
	first := d.act(list)
	d.Same(first, d.act(list), "all observations", "when decided twice, decision")
	version := d.Policy.Version()
	for i := range list {
		list[i].Seed = list[i].Seed.Child(1)
	}
	d.act(list)
	d.Require(version == d.Policy.Version(), "version", "it changes when the policy acts")
}

func concurrency(d *driver) {
	list := d.observations(d.some(70))
	want := d.act(list)
	var callers sync.WaitGroup
	got := make([][]policy.Decision, 8)
	if d.Few {
		got = got[:2]
	}
	errs := make([]error, len(got))
	for i := range got {
		callers.Go(func() {
			got[i] = make([]policy.Decision, len(list))
			for range d.some(5) {
				if err := d.Policy.Act(d.ctx, list, got[i]); err != nil {
					errs[i] = err
				}
			}
		})
	}
	callers.Wait()
	for i := range got {
		d.OK(errs[i], fmt.Sprintf("caller %d", i))
		d.Same(want, got[i], fmt.Sprintf("caller %d", i), "during concurrent calls, decision")
	}
}

func readOnly(d *driver) {
	list, want := d.observations(9), d.observations(9)
	for i := range list {
		list[i].Features, list[i].Actions = slices.Clone(list[i].Features), slices.Clone(list[i].Actions)
	}
	d.act(list)
	d.Same(want, list, "observations", "after the call, observation")
}

func empty(d *driver) { d.OK(d.Policy.Act(d.ctx, nil, nil), "act without observations") }

func deadline(d *driver) {
	if d.Slow == nil {
		d.Skip("no slow observation is known")
	}
	list := d.observations(3)
	want := d.act(list)
	list[1] = *d.Slow
	ctx, cancel := context.WithTimeout(d.ctx, 500*time.Millisecond)
	defer cancel()
	decisions := make([]policy.Decision, len(list))
	d.OK(d.Policy.Act(ctx, list, decisions), "act")
	d.Require(late(decisions[1].Err), at(1), "is slow, but its error is not a retryable timeout: %v", decisions[1].Err)
	d.Same([]policy.Decision{want[0], want[2]}, []policy.Decision{decisions[0], decisions[2]}, "the other observations", "next to a slow one, decision")
}

func canceled(d *driver) {
	if d.Slow == nil {
		d.Skip("no slow observation is known")
	}
	ctx, cancel := context.WithCancel(d.ctx)
	done := make(chan error, 1)
	go func() { done <- d.Policy.Act(ctx, []policy.Observation{*d.Slow}, make([]policy.Decision, 1)) }()
	d.act(d.observations(2)) // not delayed by the slow one
	cancel()
	err := <-done
	d.Require(errors.Is(err, context.Canceled), "act", "after the call was canceled, the error is %v", err)
	d.act(d.observations(2))
}

func mask(d *driver) {
	d.hasActions()
	o := d.Observe(0)
	for only := range o.Actions {
		o.Mask = make([]byte, len(o.Actions))
		o.Mask[only] = 1
		for seed := range d.some(20) {
			o.Seed = rl.Seed(seed)
			decision := d.act([]policy.Observation{o})[0]
			d.OK(decision.Err, at(0))
			d.chooses(decision)
			d.Require(decision.Action.Choice == only && decision.Action.Text == o.Actions[only], at(0), "takes action %d (%s) where only %d is available", decision.Action.Choice, decision.Action.Text, only)
			d.Require(near(decision.LogProb, 0) && near(decision.Entropy, 0), at(0), "the only available action has log-probability %v and entropy %v, both must be 0", decision.LogProb, decision.Entropy)
		}
	}
}

func distribution(d *driver) {
	d.hasActions()
	if d.Few {
		d.Skip("it would take thousands of decisions")
	}
	const draws = 4000
	for i, o := range d.observations(6) {
		list := slices.Repeat([]policy.Observation{o}, draws)
		for k := range list {
			list[k].Seed = rl.Seed(5).Path(uint64(i), uint64(k))
		}
		count := make([]int, len(o.Actions))
		logProb := make([]float64, len(o.Actions))
		decisions := d.act(list)
		for _, decision := range decisions {
			d.OK(decision.Err, at(i))
			d.chooses(decision)
			a := decision.Action.Choice
			d.Require(o.Mask == nil || o.Mask[a] == 1, at(i), "takes action %d, which was not available", a)
			d.Require(o.Actions[a] == decision.Action.Text, at(i), "action %d is called %q, not %q", a, o.Actions[a], decision.Action.Text)
			d.Require(decisions[0].Entropy == decision.Entropy, at(i), "the same distribution has the entropies %v and %v", decisions[0].Entropy, decision.Entropy)
			d.Require(count[a] == 0 || logProb[a] == decision.LogProb, at(i), "action %d has the log-probabilities %v and %v", a, logProb[a], decision.LogProb)
			count[a]++
			logProb[a] = decision.LogProb
		}
		d.fits(i, o, count, logProb, decisions[0].Entropy)
	}
}

// fits compares the drawn actions with the reported probabilities. Actions that were
// never drawn share the rest of the probability.
func (d *driver) fits(i int, o policy.Observation, count []int, logProb []float64, entropy float64) {
	draws, total, seen, available, sum := 0, 0.0, 0, 0, 0.0
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
	d.Require(total <= 1+1e-6, at(i), "the probabilities add up to %v", total)
	d.Require(entropy >= sum-1e-6 && entropy <= math.Log(float64(available))+1e-6, at(i), "the entropy is %v; it must be at least %v for the actions taken, and for %d actions at most %v", entropy, sum, available, math.Log(float64(available)))
	d.Require(seen < available || near(total, 1) && near(sum, entropy), at(i), "the probabilities add up to %v and have the entropy %v, but the reported entropy is %v", total, sum, entropy)
	for a, n := range count {
		if n == 0 {
			continue
		}
		p := math.Exp(logProb[a])
		deviation := math.Sqrt(p * (1 - p) / float64(draws))
		d.Require(math.Abs(p-float64(n)/float64(draws)) <= 6*deviation+1e-9, at(i), "action %d has probability %.4f and was taken %d times in %d", a, p, n, draws)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6 }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
