package reward_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Promise: the environment's own reward is that of its steps, at the messages of
// its steps, and what no environment played has no score.
func TestEnvironment(t *testing.T) {
	played := &rl.Trajectory{
		Messages: []rl.Message{{Role: "user"}, {Role: "assistant"}, {Role: "user"}, {Role: "assistant"}},
		Steps:    []rl.Step{{MessageCount: 1, EnvReward: -0.25}, {Index: 1, MessageCount: 3, EnvReward: 1}},
	}
	e := reward.Environment{}.Evaluate(t.Context(), played)
	require.Equal(t, reward.Scored, e.Outcome)
	require.Equal(t, 0.75, e.Result.Score)
	require.Equal(t, []rl.StepOutput{{StepIndex: 1, BaseReward: -0.25}, {StepIndex: 3, BaseReward: 1}}, e.Result.StepOutputs)

	e = reward.Environment{}.Evaluate(t.Context(), &rl.Trajectory{Messages: played.Messages})
	require.Equal(t, reward.Invalid, e.Outcome)
	require.NotEmpty(t, e.Reason)
}
