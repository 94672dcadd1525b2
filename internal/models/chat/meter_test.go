package chat_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// two is an answer with ten prompt tokens and two answer tokens.
var two = chattest.Answer{Text: "x", Prompt: 10, Tokens: []rl.Token{{ID: 1}, {ID: 2}}}.Reply()

// Promise: when a budget of tokens or money is spent, the client stops and names the setting
// to raise.
func TestBudget(t *testing.T) {
	server := chattest.New(t, 0, always(two))
	for _, c := range []struct {
		budget chat.Budget
		text   string
	}{
		{chat.Budget{Tokens: 24}, "24 of 24 tokens are used"},
		{chat.Budget{Cost: 0.00002, InputPrice: 0.5, OutputPrice: 3}, "2.2e-05 of 2e-05 are spent"},
	} {
		client := quick(t, server.URL, func(k *chat.Config) { k.Budget = c.budget })
		for range 2 {
			r, err := client.Complete(t.Context(), ask("x"))
			require.NoError(t, err)
			require.InDelta(t, 10*c.budget.InputPrice/1e6+2*c.budget.OutputPrice/1e6, r.Cost, 1e-12)
		}
		_, err := client.Complete(t.Context(), ask("x"))
		require.ErrorIs(t, err, chat.ErrBudget)
		require.ErrorIs(t, err, fault.Of(fault.Model, fault.Exhausted))
		require.False(t, fault.Retryable(err))
		require.ErrorContains(t, err, c.text)
		require.Contains(t, fault.As(err).Hint, "raise budget.")
		totals := client.Totals()
		require.Equal(t, chat.Tokens{Prompt: 20, Completion: 4}, totals.Tokens)
		require.Equal(t, 2, totals.Answers)
	}
	mute := chattest.New(t, 0, always(chattest.Reply{Body: `{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}`}))
	_, err := quick(t, mute.URL, func(k *chat.Config) { k.Budget.Tokens = 1 }).Complete(t.Context(), ask("x"))
	require.ErrorContains(t, err, "the budget cannot be enforced")
	_, err = quick(t, mute.URL).Complete(t.Context(), ask("x"))
	require.NoError(t, err)
}

// Promise: a budget limits all requests together: concurrent ones, retries and unreadable
// answers. A request that may need more than is left is not sent.
func TestBudgetBounds(t *testing.T) {
	const budget = 100
	unreadable := chattest.Reply{Body: `{"choices":[`}
	for name, c := range map[string]struct {
		reply    chattest.Reply
		longest  int
		answered int
	}{
		"bounded answers":   {two, 5, 4}, // 12 tokens each; one more may use 22 + 5
		"unbounded answers": {two, 0, 9}, // 9 × 12 is more than 100; the last one started below it
		"unreadable":        {unreadable, 5, 0},
	} {
		server := chattest.New(t, 0, always(c.reply))
		client := quick(t, server.URL, func(k *chat.Config) { k.Budget.Tokens = budget })
		q := ask("x")
		q.MaxTokens = c.longest
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() { _, _ = client.Complete(t.Context(), q) })
		}
		wg.Wait()
		_, err := client.Complete(t.Context(), q)
		require.ErrorIs(t, err, chat.ErrBudget, name)
		totals := client.Totals()
		require.GreaterOrEqual(t, totals.Answers, c.answered, name)
		most := int64(budget)
		if c.longest == 0 {
			most += 11
		}
		require.LessOrEqual(t, totals.Tokens.Prompt+totals.Tokens.Completion, most, name)
		require.LessOrEqual(t, len(server.Calls()), 10, name)
	}
	client := quick(t, chattest.New(t, 0, always(two)).URL, func(k *chat.Config) { k.Budget.Tokens = budget })
	q := ask("x")
	q.MaxTokens = 512
	_, err := client.Complete(t.Context(), q)
	require.ErrorContains(t, err, "0 of 100 tokens are used, and one more request may take")
	require.Contains(t, fault.As(err).Hint, "lower max_tokens")
}

// Promise: the tokens of answers that were refused after generation are counted.
func TestRefusedAnswersCost(t *testing.T) {
	server := chattest.New(t, 0, always(two))
	client := quick(t, server.URL, func(k *chat.Config) { k.TokenIDs = true })
	_, err := client.Complete(t.Context(), ask("x"))
	require.ErrorContains(t, err, "token ids were requested")
	require.Equal(t, chat.Tokens{Prompt: 30, Completion: 6}, client.Totals().Tokens, "it was asked three times")
	require.Zero(t, client.Totals().Answers)
}

// Promise: requests and tokens stay within their rates.
func TestRates(t *testing.T) {
	server := chattest.New(t, 0, always(two))
	for name, c := range map[string]struct {
		change         func(*chat.Config)
		times, longest int
	}{
		"requests": {func(c *chat.Config) { c.RequestsPerMinute = 50 * 60 }, 54, 0},   // 50 at once, then one in 20 ms
		"tokens":   {func(c *chat.Config) { c.TokensPerMinute = 600_000 }, 3, 34_000}, // 100,000 at once, then 10,000 a second
	} {
		client := quick(t, server.URL, c.change)
		q := ask("x")
		q.MaxTokens = c.longest
		start := time.Now()
		for range c.times {
			_, err := client.Complete(t.Context(), q)
			require.NoError(t, err, name)
		}
		require.GreaterOrEqual(t, time.Since(start), 60*time.Millisecond, name)
	}
	slow := quick(t, server.URL, func(c *chat.Config) { c.RequestsPerMinute, c.MaxConcurrent = 1, 1 })
	_, err := slow.Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = slow.Complete(ctx, ask("x"))
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Timeout))
	require.ErrorContains(t, err, "rate limit")

	long := chattest.New(t, 0, always(chattest.Answer{Text: "x", Prompt: 5000}.Reply()))
	debtor := quick(t, long.URL, func(c *chat.Config) { c.TokensPerMinute = 6000 })
	_, err = debtor.Complete(t.Context(), ask("x"))
	require.NoError(t, err)
	_, err = debtor.Complete(ctx, ask("x"))
	require.ErrorContains(t, err, "rate limit", "what an answer used beyond its estimate is owed")
}
