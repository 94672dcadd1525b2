package judging_test

import (
	"testing"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, url string, change func(*judging.Config)) *judging.Judge {
	t.Helper()
	c := judging.DefaultConfig()
	c.Server.URL, c.Server.Model, c.Server.Retries = url, "small", 0
	if change != nil {
		change(&c)
	}
	require.Empty(t, c.Validate())
	j, err := judging.Open(c, judging.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

func titles(texts ...string) (members []*rl.Trajectory) {
	for _, text := range texts {
		members = append(members, &rl.Trajectory{ID: text, Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text("A text about bees that dance.")}, {Role: rl.RoleAssistant, Content: rl.Text(text)},
		}})
	}
	return members
}

// Promise: a judge asks the server for an answer that fits a schema, and its cost is computed
// from the configured prices.
func TestAJudgeBehindAServer(t *testing.T) {
	server := chattest.New(t, 0, func(chattest.Call) chattest.Reply {
		return chattest.Answer{Text: `{"1":{"explanation":"fine","score":0.75},"2":{"score":0.25}}`, Prompt: 1000, Tokens: []rl.Token{{}, {}}}.Reply()
	})
	j := open(t, server.URL, func(c *judging.Config) { c.Server.Budget.InputPrice, c.Server.Budget.OutputPrice = 2, 8 })
	for _, e := range j.EvaluateGroup(t.Context(), titles("Dancing Bees", "Insects")) {
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	}
	require.Equal(t, judge.Totals{Questions: 1, Usage: judge.Usage{PromptTokens: 1000, CompletionTokens: 2, Cost: 0.002016}}, j.Totals())
	calls := server.Calls()
	require.Len(t, calls, 1)
	var format struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema struct {
				Required []string `json:"required"`
			} `json:"schema"`
		} `json:"json_schema"`
	}
	calls[0].Field(t, "response_format", &format)
	require.Equal(t, "json_schema", format.Type)
	require.Equal(t, []string{"1", "2"}, format.JSONSchema.Schema.Required)
}

// Promise: each failure of a server or its model is one outcome with a reason, never 0.
func TestFailures(t *testing.T) {
	good := `{"1":{"score":1}}`
	for name, c := range map[string]struct {
		reply   chattest.Reply
		outcome reward.Outcome
		reason  string
	}{
		"in a code fence": {chattest.Say("```json\n" + good + "\n```"), reward.Scored, ""},
		"amid prose":      {chattest.Say("Here you are: " + good + " I hope it helps."), reward.Scored, ""},
		"a comma more":    {chattest.Say(`{"1":{"score":1},}`), reward.Scored, ""},
		"doubled":         {chattest.Say(`{"1":{"score":1},"1":{"score":0}}`), reward.ABIViolation, `"1" comes twice`},
		"cut":             {chattest.Answer{Text: `{"1":{"expl`, Finish: "length"}.Reply(), reward.ABIViolation, "cut at the limit"},
		"prose":           {chattest.Say("I like it."), reward.ABIViolation, "not a JSON object"},
		"down":            {chattest.Fail(500, "server_error", "out of memory"), reward.Infrastructure, "out of memory"},
		"busy":            {chattest.Fail(429, "rate_limit", "slow down"), reward.Infrastructure, "slow down"},
		"dropped":         {chattest.Reply{Drop: true}, reward.Infrastructure, "127.0.0.1"},
		"context":         {chattest.Fail(400, "exceed_context_size_error", "9000 tokens"), reward.OutputLimit, "the question is too long"},
		"filter":          {chattest.Fail(400, "content_filter", "not this"), reward.ABIViolation, "not this"},
		"bad request":     {chattest.Fail(400, "invalid_request_error", "no such parameter"), reward.Infrastructure, "no such parameter"},
		"no JSON":         {chattest.Reply{Body: "<html>"}, reward.Infrastructure, "page"},
	} {
		t.Run(name, func(t *testing.T) {
			server := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return c.reply })
			e := open(t, server.URL, nil).Evaluate(t.Context(), titles("Dancing Bees")[0])
			require.Equal(t, c.outcome, e.Outcome, e.Reason)
			require.Contains(t, e.Reason, c.reason)
			if c.outcome != reward.Scored {
				require.Zero(t, e.Result)
			}
		})
	}
	never := make(chan struct{})
	server := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return chattest.Reply{Until: never} })
	for _, shorten := range []func(*judging.Config){
		func(c *judging.Config) { c.Timeout = 20 * time.Millisecond },
		func(c *judging.Config) { c.Server.Timeout = 20 * time.Millisecond },
	} {
		require.Equal(t, reward.Timeout, open(t, server.URL, shorten).Evaluate(t.Context(), titles("Dancing Bees")[0]).Outcome)
	}
}

// Promise: if a judge's key is refused, its model does not exist or its budget is spent, the
// pass stops with that error: no later evaluation is tried, and none of them becomes a score.
func TestAClosedJudgeEndsThePass(t *testing.T) {
	for name, c := range map[string]struct {
		reply  chattest.Reply
		budget int64
		most   int // requests
		says   string
	}{
		"key":    {chattest.Fail(401, "invalid_api_key", "no"), 0, 1, "requires an API key"},
		"model":  {chattest.Fail(404, "NotFoundError", "gone"), 0, 1, "does not have this model"},
		"budget": {chattest.Answer{Text: `{"1":{"score":1}}`, Prompt: 80, Tokens: []rl.Token{{}}}.Reply(), 500, 6, "tokens are used"},
	} {
		server := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return c.reply })
		j := open(t, server.URL, func(k *judging.Config) {
			k.Mode, k.MaxTokens, k.Server.Budget.Tokens, k.Server.MaxConcurrent = judge.Independent, 50, c.budget, 1
		})
		all := titles("Bees", "Dance", "Hive", "Honey", "Wax", "Wings", "Queen", "Comb", "Swarm", "Pollen", "Sting", "Drone")
		_, err := reward.NewPool([]reward.Weighted{{Scorer: j, Weight: 1}}, 1).EvaluateAll(t.Context(), all, nil)
		require.ErrorIs(t, err, judge.ErrClosed, name)
		require.Equal(t, fault.Model, fault.As(err).Boundary)
		require.ErrorContains(t, err, c.says)
		require.LessOrEqual(t, len(server.Calls()), c.most)
		require.LessOrEqual(t, j.Totals().PromptTokens+j.Totals().CompletionTokens, max(c.budget, 1))
	}
}

// Promise: Ready checks before judging whether the server responds, accepts the key and has
// the model. An unreachable server is not an error for a judge with a cache folder.
func TestReady(t *testing.T) {
	refusing := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return chattest.Fail(401, "invalid_api_key", "no") })
	err := open(t, refusing.URL, nil).Ready(t.Context())
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Missing))
	err = open(t, "http://127.0.0.1:1/v1", nil).Ready(t.Context())
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Crashed))
	require.NoError(t, open(t, "http://127.0.0.1:1/v1", func(c *judging.Config) { c.Cache = t.TempDir() }).Ready(t.Context()))
}

// Promise: the total includes the tokens of unusable answers.
func TestTokensOfUnusableAnswersAreCounted(t *testing.T) {
	server := chattest.New(t, 0, func(chattest.Call) chattest.Reply {
		return chattest.Answer{Text: "I like it.", Prompt: 10, Tokens: []rl.Token{{}, {}}}.Reply()
	})
	j := open(t, server.URL, nil)
	require.Equal(t, reward.ABIViolation, j.Evaluate(t.Context(), titles("Bees")[0]).Outcome)
	require.Equal(t, judge.Usage{PromptTokens: 20, CompletionTokens: 4}, j.Totals().Usage)
}

// Promise: a missing key and an invalid server are reported with their configuration keys.
func TestProblemsHaveTheirKeys(t *testing.T) {
	c := judging.DefaultConfig()
	c.Mode = "vote"
	var keys []string
	for _, err := range c.Validate() {
		keys = append(keys, fault.As(err).Where)
	}
	require.Equal(t, []string{"mode", "server.url", "server.model"}, keys)

	c = judging.DefaultConfig()
	c.Server.URL, c.Server.Model, c.Server.KeyEnv = "http://127.0.0.1:1/v1", "small", "JUDGE_KEY"
	_, err := judging.Open(c, judging.Options{Getenv: func(string) string { return "" }})
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	require.Equal(t, "server.key_env", fault.As(err).Where)
	_, err = judging.Open(c, judging.Options{Getenv: func(name string) string { return name }})
	require.NoError(t, err)
}

// Promise: a judge's digest does not depend on where its model is served, but changes with the
// model or the server's settings.
func TestIdentity(t *testing.T) {
	a := open(t, "http://127.0.0.1:1/v1", nil).Info()
	require.Equal(t, a.Digest, open(t, "http://127.0.0.1:2/v1", nil).Info().Digest)
	require.NotEqual(t, a.Digest, open(t, "http://127.0.0.1:1/v1", func(c *judging.Config) { c.Server.Model = "large" }).Info().Digest)
	require.NotEqual(t, a.Digest, open(t, "http://127.0.0.1:1/v1", func(c *judging.Config) { c.Server.Extra = map[string]any{"top_k": 1} }).Info().Digest)
	require.Equal(t, chat.DefaultConfig().MaxConcurrent, a.InFlight)
}

// Promise: a real small model behind llama.cpp's server gives a whole group usable scores, and
// the same scores for the same question.
func TestARealJudge(t *testing.T) {
	testneeds.Slow(t, "asks a local model")
	url := chattest.Llama(t, 1, 2048)
	judged := func() (said []string) {
		j := open(t, url, func(c *judging.Config) {
			c.Server.Model, c.MaxTokens, c.MaxExplanation = chattest.LlamaModel, 300, 60
			c.Server.Extra = map[string]any{"cache_prompt": false} // a cached prompt changes the last digits
		})
		for _, e := range j.EvaluateGroup(t.Context(), titles("How Bees Dance to Share Directions", "Fish", "bees bees bees")) {
			require.Equal(t, reward.Scored, e.Outcome, e.Reason)
			require.NotEmpty(t, e.Result.Reason)
			said = append(said, string(e.Notes[""]))
		}
		require.Positive(t, j.Totals().CompletionTokens)
		return said
	}
	require.Equal(t, judged(), judged())
}
