package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/reward"
)

// rollout is a trace of agents that end after rounds, with the tokens that they
// used.
func rollout(final string, rounds, tokens int, consensus bool, more ...reward.Field) *reward.Rollout {
	spans := fmt.Sprintf(`[{"agent":"a","text":%q,"coordination":{"event":"answer","round":0}},{"coordination":{"event":"end","round":%d,"for":"a","consensus":%t}}]`, final, rounds-1, consensus)
	usage := fmt.Sprintf(`{"calls":1,"prompt_tokens":%d,"completion_tokens":0}`, tokens)
	return &reward.Rollout{GroundTruth: reward.StringValue("42"), Metadata: append(more, reward.Field{Key: "spans", Value: reward.Value{Kind: reward.JSON, JSON: spans}}, reward.Field{Key: "usage", Value: reward.Value{Kind: reward.JSON, JSON: usage}})}
}

// Promise: the score is max(0, 1 − (rounds−1)/(max−1)) + 2·quality + consensus
// − tokens/2000, case by case.
func TestFormula(t *testing.T) {
	limit := reward.Field{Key: "max_rounds", Value: reward.Value{Kind: reward.Number, JSON: "2", Number: 2}}
	half := reward.Field{Key: "quality", Value: reward.Value{Kind: reward.Number, JSON: "0.5", Number: 0.5}}
	for name, c := range map[string]struct {
		trace *reward.Rollout
		want  float64
	}{
		"at once and right": {rollout("42", 1, 0, true), 1 + 2 + 1},
		"tokens cost":       {rollout("42", 1, 3000, true), 1 + 2 + 1 - 1.5},
		"a second round":    {rollout("42", 2, 0, true), 1 - 1.0/9 + 2 + 1},
		"agreed and wrong":  {rollout("41", 1, 0, true), 1 + 0 + 1},
		"cut off":           {rollout("42", 10, 0, false), 0 + 2 - 0.5},
		"beyond the limit":  {rollout("42", 4, 0, false, limit), 0 + 2 - 0.5},
		"quality is given":  {rollout("41", 1, 0, true, half), 1 + 1 + 1},
		"space and case":    {rollout(" 42\n", 1, 0, true), 1 + 2 + 1},
	} {
		require.InDelta(t, c.want, score(c.trace).Score, 1e-12, name)
	}
}

// Promise: what cannot be judged has no score, and never 0.
func TestNoScore(t *testing.T) {
	broken := rollout("42", 1, 0, true)
	broken.Metadata[0].Value.JSON = `{"not": "a list"}`
	require.NotEmpty(t, score(broken).Error)
	silent := rollout("42", 1, 0, true)
	silent.Metadata = nil
	require.True(t, score(silent).Invalid)
}
