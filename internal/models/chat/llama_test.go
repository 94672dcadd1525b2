package chat_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// Promise: with a real llama.cpp server and model, the same seed gives the same answer, tokens
// have ids and log-probabilities, a schema is enforced, and failures have their types.
func TestLlama(t *testing.T) {
	testneeds.Slow(t, "asks a local model")
	url := chattest.Llama(t, 2, 256)
	client := quick(t, url, func(c *chat.Config) {
		c.Model, c.Extra = chattest.LlamaModel, map[string]any{"top_k": 0, "min_p": 0}
	})
	served, err := client.Served(t.Context())
	require.NoError(t, err)
	require.Equal(t, &chat.Served{Model: chattest.LlamaModel, Context: 256}, served)

	q := ask("Name an animal.")
	q.MaxTokens, q.LogProbs, q.Temperature, q.TopP = 12, true, new(1.0), new(1.0)
	var answers []*chat.Response
	for _, seed := range []int64{8, 7, 7} { // from the second request on, the prompt is in the server's cache
		q.Seed = new(seed)
		r, err := client.Complete(t.Context(), q)
		require.NoError(t, err)
		require.NotEmpty(t, r.Text)
		require.Len(t, r.Tokens, r.Usage.Completion)
		require.Negative(t, r.LogProb())
		require.Positive(t, r.Usage.Prompt)
		answers = append(answers, r)
	}
	require.NotEqual(t, answers[0].Text, answers[1].Text)
	require.Equal(t, answers[1], answers[2])
	require.Positive(t, answers[2].Usage.Cached)

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
	_, err = quick(t, url, func(c *chat.Config) { c.Model = "smolm2" }).Served(t.Context())
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
	require.Contains(t, fault.As(err).Hint, chattest.LlamaModel)
	_, err = quick(t, strings.TrimSuffix(url, "/v1")+"/v2").Complete(t.Context(), ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
}
