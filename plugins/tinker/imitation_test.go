package tinker_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/host"
)

// imitates tests that answers of another model, which have no token ids, become likelier with
// every update on a real SkyRL server.
func imitates(t *testing.T, s setting) {
	options, err := json.Marshal(map[string]any{"url": s.URL, "base_model": s.Model, "tokenizer": s.Tokenizer, "learning_rate": 0.01, "batch": width})
	require.NoError(t, err)
	cfg := host.DefaultPolicyConfig()
	cfg.Path, cfg.Options, cfg.Learn, cfg.LearnTimeout = s.Plugin, options, true, 10*time.Minute
	l, err := host.OpenPolicy(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	say := func(role, text string) rl.Message { return rl.Message{Role: role, Content: rl.Text(text)} }
	asked := []policy.Observation{
		{Answered: true, Messages: []rl.Message{say(rl.RoleUser, "Go."), say(rl.RoleAssistant, "north")}},
		{Answered: true, Messages: []rl.Message{say(rl.RoleUser, "Go."), say(rl.RoleAssistant, "north"), say(rl.RoleUser, "And now?"), say(rl.RoleAssistant, "east")}},
	}
	decisions := make([]policy.Decision, len(asked))
	require.NoError(t, l.Act(t.Context(), asked, decisions))
	before := append(append([]int32(nil), decisions[0].Prompt...), ids(decisions[0].Tokens)...)
	require.Equal(t, before, decisions[1].Prompt[:len(before)], "the second answer extends the first")
	e := &policy.Experience{
		Imitate: true, First: []int{0, 2}, Advantage: []float64{1, 1}, Weight: []float64{1, 1},
		Trajectories: []*rl.Trajectory{{ID: "told", Steps: []rl.Step{
			{Prompt: rl.NewPrompt(nil, decisions[0].Prompt), Tokens: decisions[0].Tokens},
			{Prompt: rl.NewPrompt(before, decisions[1].Prompt), Tokens: decisions[1].Tokens},
		}}},
	}
	var losses []float64
	for i := range 3 {
		stats, err := l.Learn(t.Context(), e, rl.Seed(i))
		require.NoError(t, err)
		require.Equal(t, 1, stats.Sequences)
		require.Equal(t, len(decisions[0].Tokens)+len(decisions[1].Tokens), stats.Tokens)
		losses = append(losses, stats.Loss)
	}
	require.IsDecreasing(t, losses)
}

func ids(tokens []rl.Token) (ids []int32) {
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	return ids
}
