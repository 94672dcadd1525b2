package learn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/policytest"
)

// Promise: the embedded policy and its learner keep the contract of a learner,
// with everything that has a state.
func TestAgentContract(t *testing.T) {
	testneeds.NotShort(t)
	in := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}
	for name, change := range map[string]func(*learn.PPOConfig){
		"plain": nil,
		"initial reference, schedule": func(c *learn.PPOConfig) {
			c.KLCoefficient, c.KLReference = 0.05, learn.ReferenceInitial
			c.Schedule = learn.Schedule{Kind: learn.ScheduleLinear, WarmUp: 2, Updates: 6}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ppo := small(change)
			policytest.RunLearner(t, policytest.LearnerSubject{
				Observe: func(i int) policy.Observation {
					o := observer(in)(i)
					o.Messages = []rl.Message{{Role: rl.RoleUser, Content: rl.Text("go")}}
					return o
				},
				Open: func(t testing.TB) policy.Learner {
					a, err := learn.NewAgent(learn.DefaultPolicyConfig(), learn.DefaultConfig(), &ppo, in, 5)
					require.NoError(t, err)
					return a
				},
			})
		})
	}
}

// Promise: an agent that only acts loads what one that learns has saved, and
// says that it does not learn.
func TestAgentThatOnlyActs(t *testing.T) {
	in := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}
	ppo := small(nil)
	learner, err := learn.NewAgent(learn.DefaultPolicyConfig(), learn.DefaultConfig(), &ppo, in, 5)
	require.NoError(t, err)
	learner.Params()[0] = 3
	state, err := learner.Save(t.Context(), "iteration-1")
	require.NoError(t, err)

	player, err := learn.NewAgent(learn.DefaultPolicyConfig(), learn.DefaultConfig(), nil, in, 6)
	require.NoError(t, err)
	require.False(t, player.Spec().Learns)
	require.NoError(t, player.Load(t.Context(), state))
	require.Equal(t, learner.Params(), player.Params())
	_, err = player.Learn(t.Context(), &policy.Experience{}, rl.Seed(1))
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
	_, err = player.Save(t.Context(), "iteration-1")
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Invalid))
	require.NoError(t, player.Close())
}

// Promise: what an agent says acts is smaller than its state, makes another one
// that only acts decide as it does, with its version, and is nothing to learn on
// with.
func TestWeights(t *testing.T) {
	in := learn.Input{Shape: []int{3, 7, 7}, Actions: moves}
	ppo := small(nil)
	learner, err := learn.NewAgent(learn.DefaultPolicyConfig(), learn.DefaultConfig(), &ppo, in, 5)
	require.NoError(t, err)
	learner.Params()[0] = 3
	state, err := learner.Save(t.Context(), "iteration-1")
	require.NoError(t, err)
	weights, err := learner.Weights(t.Context())
	require.NoError(t, err)
	require.Less(t, 2*len(weights), len(state))

	player, err := learn.NewAgent(learn.DefaultPolicyConfig(), learn.DefaultConfig(), nil, in, 6)
	require.NoError(t, err)
	require.NoError(t, player.Load(t.Context(), weights))
	require.Equal(t, learner.Params(), player.Params())
	require.Equal(t, learner.Version(), player.Version())
	again, err := player.Weights(t.Context())
	require.NoError(t, err)
	require.Equal(t, weights, again)
	require.ErrorIs(t, learner.Load(t.Context(), weights), fault.Of(fault.Learner, fault.Corrupt))
}
