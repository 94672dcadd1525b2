// Package policycontract checks the contract of policy.Policy, on which rollouts
// rely, on a real policy. Each check tests one promise, and its result reports what
// is wrong and where. Package policytest runs the checks in tests.
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

// Subject is the policy to check.
type Subject struct {
	Policy policy.Policy
	// Observe returns the i-th of any number of different observations, with
	// the same content in each call. The check sets Seed and Mask.
	Observe func(i int) policy.Observation
	// Slow, if set, is an observation that the policy does not decide on before
	// the context of the call ends.
	Slow *policy.Observation
	// Few makes the checks request as few decisions as possible, for a policy
	// that pays for each.
	Few bool
}

type trial struct {
	promise, hint string
	check         func(*driver)
}

var trials = []trial{
	{"every observation gets a decision", "return a Decision, or an error that explains why there is none", decides},
	{"decisions do not depend on the batch", "decide only by the request: keep no state between requests", batchIndependence},
	{"the same seeds give the same decisions", "derive all randomness from the seed of the request", seeds},
	{"concurrent calls agree", "lock the state that requests share, or do not change it", concurrency},
	{"observations are not written to", "copy what you change", readOnly},
	{"a call without observations succeeds", "return no error for an empty call", empty},
	{"a deadline fails only the slow decision", "stop working on a request when its context ends", deadline},
	{"a canceled call returns", "stop working on a request when its context ends", canceled},
	{"the mask is respected", "never take an action whose mask is 0, whatever its probability", mask},
	{"log-probabilities are a distribution", "return the natural logarithm of the probability over the available actions, and the entropy of the same distribution in nats", distribution},
}

// Run checks every promise, in order, and returns a result for each:
//
//   - A decision is a function of its observation and seed. It does not depend on
//     its place in the batch, the other observations, earlier or concurrent
//     calls, or the earlier content of the decision.
//   - An observation is not written to.
//   - An action that the mask rules out is never taken.
//   - With named actions, log-probabilities belong to one distribution over the
//     available actions, decisions are drawn from it, and entropy is its
//     entropy, all in nats.
//   - A decision that misses the deadline is a separate, retryable error, and
//     the other decisions are made. A call that is canceled returns the
//     context's error at once.
//
// If ctx ends, Run stops early and returns its error.
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

// some returns how many decisions a check requests.
func (d *driver) some(many int) int {
	if d.Few {
		return min(many, 6)
	}
	return many
}

// observations returns n observations. A third of them have the first action
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

// hasActions skips a check of named actions if the actions are free text.
func (d *driver) hasActions() {
	if len(d.Observe(0).Actions) == 0 {
		d.Skip("actions are free text")
	}
}

// chooses skips a check of chosen actions if the policy returns text.
func (d *driver) chooses(decision policy.Decision) {
	if decision.Action.Kind != rl.ActionChoice {
		d.Skip("the policy returns text instead of choosing an action")
	}
}

func late(err error) bool {
	return errors.Is(err, fault.Of("", fault.Timeout)) && fault.Retryable(err)
}
