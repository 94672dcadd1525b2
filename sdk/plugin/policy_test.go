package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/contracts/policytest"
	"github.com/merit-rl/merit/internal/host/testdata/bandit/bandit"
	"github.com/merit-rl/merit/sdk/plugin"
)

func says(text string, actions ...string) policy.Observation {
	return policy.Observation{Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text(text)}}, Text: text, Actions: actions}
}

// Promise: a policy opened in process keeps the contracts that its plug-in
// keeps.
func TestPolicyInProcess(t *testing.T) {
	for name, actions := range map[string][]string{"choices": {"left", "right", "stay"}, "text": nil} {
		t.Run(name, func(t *testing.T) {
			slow := says("wait", actions...)
			policytest.RunLearner(t, policytest.LearnerSubject{
				Slow: &slow,
				Open: func(t testing.TB) policy.Learner {
					l, err := bandit.Definition().Open(plugin.PolicySetup{Seed: 3, Actions: actions, Learn: true}, nil)
					require.NoError(t, err)
					return l
				},
				Observe: func(i int) policy.Observation { return says(fmt.Sprint("observation ", i), actions...) },
			})
		})
	}
}

// Promise: an error, a panic and a decision that breaks the contract fail one
// request each, with a type, and its neighbours are answered.
func TestPolicyRequestFails(t *testing.T) {
	l, err := bandit.Definition().Open(plugin.PolicySetup{}, nil)
	require.NoError(t, err)
	d := make([]policy.Decision, 4)
	require.NoError(t, l.Act(t.Context(), []policy.Observation{says("hello"), says("panic"), says("busy"), says("refuse")}, d))
	require.NoError(t, d[0].Err)
	require.ErrorIs(t, d[1].Err, fault.Of(fault.Plugin, fault.Crashed))
	require.True(t, fault.Retryable(d[1].Err))
	require.True(t, fault.Retryable(d[2].Err))
	require.EqualError(t, d[3].Err, "not this one")
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	require.ErrorIs(t, l.Act(ctx, []policy.Observation{says("wait")}, d[:1]), context.DeadlineExceeded)
	require.NoError(t, l.Close())
	require.ErrorContains(t, l.Act(t.Context(), []policy.Observation{says("x")}, d), "closed")
}

// Promise: Retry keeps what an error says and of which kind it is.
func TestRetry(t *testing.T) {
	require.EqualError(t, plugin.Retry(errors.New("busy")), "busy")
	full := plugin.Retry(&fault.Error{Boundary: fault.Model, Kind: fault.Exhausted, What: "no room"})
	require.ErrorIs(t, full, fault.Of(fault.Model, fault.Exhausted))
	require.True(t, fault.Retryable(full))
}

// stubborn is a policy that only acts, and badly.
type stubborn struct{ decision plugin.Decision }

func (stubborn) Spec() plugin.PolicySpec { return plugin.PolicySpec{} }

func (s stubborn) Act(context.Context, *plugin.Request) (plugin.Decision, error) {
	return s.decision, nil
}

func open(t *testing.T, d plugin.Decision) policy.Learner {
	l, err := plugin.PolicyDefinition[struct{}]{
		Name: "stubborn", Version: "1",
		New: func(plugin.PolicySetup, struct{}) (plugin.Policy, error) { return stubborn{d}, nil },
	}.Open(plugin.PolicySetup{Actions: []string{"a"}}, nil)
	require.NoError(t, err)
	return l
}

// Promise: a policy that only acts does not learn, and says so.
func TestPolicyOnlyActs(t *testing.T) {
	l := open(t, plugin.Decision{Action: plugin.Choose(0)})
	require.False(t, l.Spec().Learns)
	_, err := l.Learn(t.Context(), &policy.Experience{First: []int{0}}, 1)
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Refused))
	require.ErrorIs(t, l.Publish(t.Context()), fault.Of(fault.Learner, fault.Refused))
	require.ErrorIs(t, l.Load(t.Context(), nil), fault.Of(fault.Learner, fault.Refused))
	_, err = l.Save(t.Context(), "x")
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Refused))
}

// Promise: what the wire refuses, a test in process sees refused.
func TestPolicyInProcessIsChecked(t *testing.T) {
	for says, d := range map[string]plugin.Decision{
		"decision.choice: 3 is not one of 1 actions":                   {Action: plugin.Choose(3)},
		"the decision is 2 updates old, but there were only 0 updates": {Lag: 2},
		"unexpected end of JSON input":                                 {Info: map[string]json.RawMessage{"x": json.RawMessage("{")}},
	} {
		decisions := make([]policy.Decision, 1)
		require.NoError(t, open(t, d).Act(t.Context(), []policy.Observation{{Actions: []string{"a"}}}, decisions))
		require.ErrorContains(t, decisions[0].Err, says)
	}
}

// Promise: a definition that cannot work says everything that it lacks.
func TestPolicyDefinition(t *testing.T) {
	_, err := plugin.PolicyDefinition[struct{}]{}.Open(plugin.PolicySetup{}, nil)
	require.ErrorContains(t, err, "needs a Name and a Version")
	require.ErrorContains(t, err, "needs a New")
	_, err = bandit.Definition().Open(plugin.PolicySetup{}, json.RawMessage(`{"rate": 0, "speed": 1}`))
	require.EqualError(t, err, "options.speed: is not an option\noptions.rate: must be positive")
}
