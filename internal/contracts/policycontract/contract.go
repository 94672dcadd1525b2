// Package policycontract is the contract of policy.Policy as functions: what a rollout
// relies on, whoever implements it. Each promise is tried on a real policy, and
// each result says what is wrong and where; policytest runs them in tests.
package policycontract

import (
	"context"
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/checks"
)

// Subject is a policy that is checked.
type Subject struct {
	Policy policy.Policy
	// Observe returns the i-th of any number of different observations, with
	// the same content in each call. The check sets Seed and Mask.
	Observe func(i int) policy.Observation
	// Slow, if set, is an observation whose decision does not come before the
	// context of its call ends.
	Slow *policy.Observation
	// Few asks for as few decisions as show anything: for a policy that pays
	// for each.
	Few bool
}

type trial struct {
	promise, hint string
	check         func(*driver)
}

var trials = []trial{
	{"every observation gets a decision", "return a Decision; what cannot be decided is an error that says why", decides},
	{"decisions do not depend on the batch", "decide by the request alone: keep nothing between two of them", batchIndependence},
	{"the same seeds give the same decisions", "draw all that is random from the seed of the request", seeds},
	{"concurrent calls agree", "what requests share must not change, or be locked", concurrency},
	{"observations are not written to", "copy what you change", readOnly},
	{"nothing observed, nothing decided", "an empty call is no error", empty},
	{"a deadline is that of one decision", "end a request when its context ends", deadline},
	{"a cancelled call ends", "end a request when its context ends", cancelled},
	{"the mask is respected", "an action of mask 0 is never taken, whatever its probability", mask},
	{"log-probabilities are a distribution", "give the natural logarithm of the probability over the available actions, and the entropy of the same distribution in nats", distribution},
}

// Run tries every promise, in order, and returns a result for each:
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
//
// It ends early with the error of a context that is over.
func Run(ctx context.Context, s Subject) ([]checks.Result, error) {
	var results []checks.Result
	for _, t := range trials {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		results = append(results, checks.Check(t.promise, fault.Plugin, t.hint, func(c *checks.Checker) {
			t.check(&driver{Checker: c, Subject: s, ctx: ctx})
		}))
	}
	return results, nil
}

type driver struct {
	*checks.Checker
	Subject
	ctx context.Context
}

// some is how many decisions a check asks for.
func (d *driver) some(many int) int {
	if d.Few {
		return min(many, 6)
	}
	return many
}

// observations returns n observations, of which a third have the first action
// masked, if there is another.
func (d *driver) observations(n int) []policy.Observation {
	list := make([]policy.Observation, n)
	for i := range list {
		list[i] = d.Observe(i)
		list[i].Seed = rl.Seed(99).Child(uint64(i))
		list[i].Mask = nil
		if actions := len(list[i].Actions); i%3 == 1 && actions > 1 {
			list[i].Mask = slices.Repeat([]byte{1}, actions)
			list[i].Mask[0] = 0
		}
	}
	return list
}

func (d *driver) act(observations []policy.Observation) []policy.Decision {
	decisions := make([]policy.Decision, len(observations))
	d.OK(d.Policy.Act(d.ctx, observations, decisions), "act")
	return decisions
}

// hasActions skips what is about named actions for a policy that speaks.
func (d *driver) hasActions() {
	if len(d.Observe(0).Actions) == 0 {
		d.Skip("actions are free text")
	}
}

// chooses skips what is about chosen actions for a policy that names none.
func (d *driver) chooses(decision policy.Decision) {
	if decision.Action.Kind != rl.ActionChoice {
		d.Skip("the policy speaks and chooses no action itself")
	}
}

func late(err error) bool {
	return errors.Is(err, fault.Of("", fault.Timeout)) && fault.Retryable(err)
}
