package shape_test

import (
	"encoding/json"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/stretchr/testify/require"
)

const responses = `{"verify_responses": [
	{"_ng_task_index": 10, "_ng_rollout_index": 0, "reward": 0.5, "merit_unscored": 0, "ok": true, "s": "x", "response": {"usage": {"input_tokens": 3}}},
	{"_ng_task_index": 10, "_ng_rollout_index": 1, "reward": 1.0, "merit_unscored": 0, "ok": false, "response": {"usage": null}},
	{"_ng_task_index": 2, "_ng_rollout_index": 0, "reward": -1, "merit_unscored": 1, "ok": false, "_ng_failure_class": "merit_trap", "x": null}]}`

// Promise: NeMo Gym's profile of a run has the peer's names and numbers, and replacements of
// missing scores do not count in the figures of reward.
func TestAggregate(t *testing.T) {
	text, err := shape.Aggregate([]byte(responses))
	require.NoError(t, err)
	var got struct {
		Groups []map[string]float64 `json:"group_level_metrics"`
		Agent  map[string]float64   `json:"agent_metrics"`
		Keys   map[string]float64   `json:"key_metrics"`
	}
	require.NoError(t, json.Unmarshal(text, &got))
	// From nemo-gym 0.4.0, compute_aggregate_metrics, except for reward.
	for name, want := range map[string]float64{
		"mean/reward": 0.75, "max/reward": 1, "min/reward": 0.5, "median/reward": 0.75, "std/reward": 0.3535533905932738,
		"mean/merit_unscored": 1.0 / 3, "std/merit_unscored": 0.5773502691896258, "median/ok": 0, "mean/ok": 1.0 / 3, "mean/input_tokens": 3,
	} {
		require.InDelta(t, want, got.Agent[name], 1e-15, name)
	}
	require.NotContains(t, got.Agent, "std/input_tokens")
	require.NotContains(t, got.Agent, "mean/s")
	require.Equal(t, map[string]float64{"mean/reward": 0.75, "mean/merit_unscored": got.Agent["mean/ok"], "mean/ok": got.Agent["mean/ok"], "mean/input_tokens": 3}, got.Keys)
	require.Len(t, got.Groups, 2)
	require.Equal(t, map[string]float64{"_ng_task_index": 2, "num_rollouts": 1, "mean/merit_unscored": 1, "max/merit_unscored": 1, "min/merit_unscored": 1,
		"median/merit_unscored": 1, "mean/ok": 0, "max/ok": 0, "min/ok": 0, "median/ok": 0}, got.Groups[0])
	require.Equal(t, 10.0, got.Groups[1]["_ng_task_index"])

	empty, err := shape.Aggregate([]byte(`{"verify_responses": []}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}}`, string(empty))
	_, err = shape.Aggregate([]byte(`{"verify_responses": [3]}`))
	require.EqualError(t, err, "verify_responses[0]: must be an object, not a number")
}

// FuzzAggregate checks that any body is refused or profiled as JSON.
func FuzzAggregate(f *testing.F) {
	f.Add([]byte(responses))
	f.Add([]byte(`{"verify_responses": [{"a": 1e308}, {"a": 1e308, "a\u0000": -0, "_ng_task_index": "x"}, {"b": 1e999, "response": 3}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text, err := shape.Aggregate(body)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		require.True(t, json.Valid(text))
	})
}
