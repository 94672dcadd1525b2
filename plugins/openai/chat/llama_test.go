package chat_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/plugins/openai/chat"
	"github.com/merit-rl/merit/plugins/openai/chat/chattest"
)

// Promise: against a real llama.cpp server with a real model the same seed
// gives the same answer, tokens have ids and log-probabilities, a schema is
// kept to, and what goes wrong has its type.
func TestLlama(t *testing.T) {
	url := chattest.Llama(t, 2, 256)
	client := quick(t, url, func(c *chat.Config) {
		c.Model, c.Extra = chattest.LlamaModel, map[string]any{"top_k": 0, "min_p": 0}
	})
	served, err := client.Served(t.Context())
	require.NoError(t, err)
	require.Equal(t, &chat.Served{Model: chattest.LlamaModel, Context: 256}, served)

	q := ask("Name an animal.")
	q.MaxTokens, q.LogProbs, q.Temperature, q.TopP, q.Seed = 12, true, new(1.0), new(1.0), new(int64(7))
	first, err := client.Complete(t.Context(), q)
	require.NoError(t, err)
	require.NotEmpty(t, first.Text)
	require.Len(t, first.Tokens, first.Usage.Completion)
	require.Negative(t, first.LogProb())
	require.Positive(t, first.Usage.Prompt)
	again, err := client.Complete(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, first.Text, again.Text)
	require.Equal(t, first.Finish, again.Finish)
	for i := range first.Tokens {
		require.Equal(t, first.Tokens[i].ID, again.Tokens[i].ID)
		require.InDelta(t, first.Tokens[i].LogProb, again.Tokens[i].LogProb, 0.01, "another split of the prompt into batches")
	}
	require.Positive(t, again.Usage.Cached, "the prompt was computed before")
	q.Seed = new(int64(8))
	other, err := client.Complete(t.Context(), q)
	require.NoError(t, err)
	require.NotEqual(t, first.Text, other.Text)

	raw := `{"type":"object","properties":{"colour":{"type":"string","maxLength":8}},"required":["colour"],"additionalProperties":false}`
	q = ask("Name a colour.")
	q.Schema, q.MaxTokens, q.Temperature = []byte(raw), 40, new(0.0)
	r, err := client.Complete(t.Context(), q)
	require.NoError(t, err)
	schema, err := chat.NewSchema([]byte(raw))
	require.NoError(t, err)
	_, repaired, err := schema.Parse(r.Text)
	require.NoError(t, err, r.Text)
	require.False(t, repaired)

	_, err = client.Complete(t.Context(), ask(strings.Repeat("word ", 300)))
	require.ErrorIs(t, err, chat.ErrContext)
	q.Schema = []byte(`{"type":"wrong"}`)
	_, err = client.Complete(t.Context(), q)
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Invalid))
	_, err = quick(t, url, func(c *chat.Config) { c.Model = "smollm-135m" }).Served(t.Context())
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
	require.Contains(t, fault.As(err).Hint, chattest.LlamaModel)
	_, err = quick(t, strings.TrimSuffix(url, "/v1")+"/v2").Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
}
