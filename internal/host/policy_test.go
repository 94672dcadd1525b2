package host_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/policytest"
	"github.com/merit-rl/merit/internal/host"
)

func bandit(t testing.TB, actions ...string) host.PolicyConfig {
	cfg := host.DefaultPolicyConfig()
	cfg.Path = build(t, "./internal/host/testdata/bandit")
	cfg.Actions, cfg.Seed, cfg.Learn = actions, 3, true
	return cfg
}

func openPolicy(t testing.TB, cfg host.PolicyConfig) policy.Learner {
	t.Helper()
	l, err := host.OpenPolicy(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// observation returns an observation with text as the user's message.
func observation(text string, actions ...string) policy.Observation {
	return policy.Observation{
		Messages: []rl.Message{{Role: rl.RoleSystem, Content: rl.Text("Answer <briefly> & well. ✓")}, {Role: rl.RoleUser, Content: rl.Text(text)}},
		Text:     text, Actions: actions,
	}
}

func observations(actions ...string) func(int) policy.Observation {
	return func(i int) policy.Observation { return observation(fmt.Sprint("observation ", i), actions...) }
}

// Promise: a policy in a plug-in keeps the contracts of policy.Policy and
// policy.Learner, with named actions and with free text.
func TestPolicyContract(t *testing.T) {
	for name, actions := range map[string][]string{"choices": {"left", "right", "stay"}, "text": nil} {
		t.Run(name, func(t *testing.T) {
			slow := observation("wait", actions...)
			policytest.RunLearner(t, policytest.LearnerSubject{
				Slow: &slow,
				Open: func(t testing.TB) policy.Learner {
					l, err := host.OpenPolicy(t.Context(), bandit(t, actions...))
					require.NoError(t, err)
					return l
				},
				Observe: observations(actions...),
			})
		})
	}
}

// Promise: a policy in Python keeps them too.
func TestPythonContract(t *testing.T) {
	python := testneeds.PythonWith(t, "grpc", "google.protobuf")
	sdk := filepath.Join(testneeds.Root(), "sdk", "python")
	cfg := host.DefaultPolicyConfig()
	cfg.Path = write(t, "tally", fmt.Sprintf("#!/bin/sh\nPYTHONPATH='%s' exec '%s' -B '%s/plugin_tests/tally.py'\n", sdk, python, sdk), 0o700)
	cfg.Learn = true
	slow := observation("slow")
	policytest.RunLearner(t, policytest.LearnerSubject{
		Open: func(t testing.TB) policy.Learner {
			l, err := host.OpenPolicy(t.Context(), cfg)
			require.NoError(t, err)
			return l
		},
		Observe: observations(), Slow: &slow,
		Experience: func(t testing.TB, l policy.Learner, _ int) *policy.Experience { return experience(t, l) },
	})
}

func ask(t testing.TB, l policy.Policy, texts ...string) []policy.Decision {
	list := make([]policy.Observation, len(texts))
	for i, text := range texts {
		list[i] = observation(text)
	}
	decisions := make([]policy.Decision, len(texts))
	require.NoError(t, l.Act(t.Context(), list, decisions))
	return decisions
}

// Promise: an author's error about one request is the error of that request only, typed
// and retryable as declared; the other requests are answered and the process lives.
func TestRequestFails(t *testing.T) {
	d := ask(t, openPolicy(t, bandit(t)), "hello", "refuse", "busy", "panic", "full", "hello")
	for i, want := range []struct {
		says  string
		retry bool
	}{{}, {"bandit: not this one", false}, {"bandit: come again", true}, {"bandit: panic: as asked", true}, {}, {}} {
		if want.says == "" {
			require.NoError(t, d[i].Err)
			continue
		}
		require.EqualError(t, d[i].Err, want.says)
		require.ErrorIs(t, d[i].Err, fault.Of(fault.Plugin, fault.Crashed))
		require.Equal(t, want.retry, fault.Retryable(d[i].Err))
	}
	require.Equal(t, rl.StopContext, d[4].Stop)
	require.NotEmpty(t, d[5].Raw)
	require.NotEmpty(t, d[5].Prompt)
	require.JSONEq(t, "false", string(d[5].Info["greedy"]))
}

// Promise: a policy's options cross the process boundary as those of environments do,
// and all errors are reported at once.
func TestPolicyOptions(t *testing.T) {
	cfg := bandit(t)
	cfg.Options = json.RawMessage(`{"rate": -1, "speed": 2}`)
	_, err := host.OpenPolicy(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	require.EqualError(t, err, "options.speed: is not an option\noptions.rate: must be positive")
}

// experience is one step with a high return.
func experience(t testing.TB, l policy.Policy) *policy.Experience {
	d := ask(t, l, "hello")[0]
	require.NoError(t, d.Err)
	step := rl.Step{Prompt: rl.NewPrompt(nil, d.Prompt), Tokens: d.Tokens}
	return &policy.Experience{
		Trajectories: []*rl.Trajectory{{ID: "one", Steps: []rl.Step{step}}}, First: []int{0, 1},
		Advantage: []float64{5}, Weight: []float64{1}, Return: []float64{1},
	}
}
