package reward_test

import (
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/stretchr/testify/require"
)

// Promise: a step index names an assistant message by the rule in force, or
// the reason why it does not; what is right costs no allocation.
func TestStepIndexing(t *testing.T) {
	messages := []rl.Message{{Role: rl.RoleSystem}, {Role: rl.RoleAssistant}, {Role: rl.RoleUser}, {Role: rl.RoleAssistant}}
	for _, c := range []struct {
		rule  reward.StepIndexing
		index int
		want  string
	}{
		{reward.ByAssistant, 0, ""},
		{reward.ByAssistant, 1, ""},
		{"", 1, ""},
		{reward.ByAssistant, 2, "step_index 2 (index among the assistant messages) does not exist; there are 2"},
		{reward.ByAssistant, -1, "step_index -1 (index among the assistant messages) does not exist; there are 2"},
		{reward.ByMessage, 1, ""},
		{reward.ByMessage, 3, ""},
		{reward.ByMessage, 2, `step_index 2 (index of the message) is a message of role "user", not of the assistant`},
		{reward.ByMessage, 4, "step_index 4 (index of the message) does not exist; there are 4 messages"},
		{reward.ByMessage, -1, "step_index -1 (index of the message) does not exist; there are 4 messages"},
	} {
		require.Equal(t, c.want, c.rule.Problem(c.index, messages, 2), "%s %d", c.rule, c.index)
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { reward.ByMessage.Problem(1, messages, 2) }))
}
