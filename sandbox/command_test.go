package sandbox_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: any WASI command can be a reward: the last line that it prints is
// an EvaluateResult, held to the same rules as host calls.
func TestCommand(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	m := load(t, newRuntime(t), goGuest(t, "sandbox/testdata/command", "-buildmode=exe"))
	require.Equal(t, "command-1", m.Info().ABI)
	for _, c := range []struct {
		name, print string
		exit        int
		want        reward.Outcome
		reason      string
	}{
		{"scored", `{"score": 0.5, "reason": "half", "metrics": {"a": {"score": 1, "is_score_valid": false, "reason": "r"}}, "step_outputs": [{"step_index": "1", "base_reward": 2, "metrics": {"b": 3}}]}` + "\n", 0, reward.Scored, ""},
		{"prints before", "thinking\nhard\n" + `{"score": 1}`, 0, reward.Scored, ""},
		{"invalid", `{"score": 0, "is_score_valid": false, "reason": "odd"}`, 0, reward.Invalid, "odd"},
		{"error", `{"score": 0, "error": "boom"}`, 0, reward.GuestError, "boom"},
		{"nothing", "", 0, reward.ABIViolation, "no result"},
		{"not JSON", "hello", 0, reward.ABIViolation, "EvaluateResult"},
		{"too large a number", `{"score": 1e309}`, 0, reward.ABIViolation, "EvaluateResult"},
		{"negative step", `{"score": 1, "step_outputs": [{"step_index": -1, "base_reward": 2}]}`, 0, reward.ABIViolation, "negative"},
		{"step that does not exist", `{"score": 1, "step_outputs": [{"step_index": 7, "base_reward": 2}]}`, 0, reward.Unaligned, "does not exist"},
		{"step twice", `{"score": 1, "step_outputs": [{"step_index": 0, "base_reward": 2},{"step_index": 0, "base_reward": 2}]}`, 0, reward.ABIViolation, "twice"},
		{"too much", strings.Repeat("x", 2<<20), 0, reward.OutputLimit, "output_kib"},
		{"much before", strings.Repeat("thinking hard\n", 200_000) + `{"score": 1}` + "\n", 0, reward.Scored, ""},
		{"a long line before", strings.Repeat("x", 2<<20) + "\n" + `{"score": 1}`, 0, reward.Scored, ""},
		{"blank lines behind", `{"score": 1}` + strings.Repeat("\n", 2<<20), 0, reward.Scored, ""},
		{"a long line last", `{"score": 1}` + "\n" + strings.Repeat("x", 2<<20) + "\n\n", 0, reward.OutputLimit, "output_kib"},
		{"exit 3", `{"score": 1}`, 3, reward.Trap, "status 3"},
	} {
		x := small()
		text, err := json.Marshal(c.print)
		require.NoError(t, err)
		code, _ := json.Marshal(c.exit)
		x.Metadata = map[string]json.RawMessage{"print": text, "exit": code}
		var fuel uint64
		for range 2 {
			e := m.Evaluate(context.Background(), x)
			require.Equal(t, c.want, e.Outcome, "%s: %s %s", c.name, e.Reason, e.Log)
			require.Contains(t, e.Reason, c.reason)
			require.Contains(t, e.Log, "messages: 4")
			require.True(t, fuel == 0 || fuel == e.Fuel, "fuel %d, then %d", fuel, e.Fuel)
			fuel = e.Fuel
			if c.name == "scored" {
				require.Equal(t, rl.EvaluateResult{
					Score: 0.5, IsScoreValid: true, Reason: "half", Metrics: rl.Metrics{{Name: "a", Score: 1, Reason: "r"}},
					StepOutputs: []rl.StepOutput{{StepIndex: 1, BaseReward: 2, Metrics: rl.Metrics{{Name: "b", Score: 3, IsScoreValid: true}}}},
				}, e.Result)
			}
			if strings.HasSuffix(c.name, "before") && c.name != "prints before" {
				require.Contains(t, e.Log, "[the log is cut here: it has ")
			}
			if c.name == "prints before" {
				require.Contains(t, e.Log, "thinking\nhard\n")
			}
		}
	}
}
