package asking_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/asking"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/internal/wire/replykind"
)

// behind returns an answerer of a server that answers with reply.
func behind(t *testing.T, reply func(chattest.Call) chattest.Reply, change func(*asking.Config)) (*asking.Answerer, *chattest.Server) {
	t.Helper()
	server := chattest.New(t, 0, reply)
	c := asking.DefaultConfig()
	s := chat.DefaultConfig()
	s.URL, s.Model, s.Retries = server.URL, "small", 0
	c.Server = &s
	return opened(t, c, change), server
}

func opened(t *testing.T, c asking.Config, change func(*asking.Config)) *asking.Answerer {
	t.Helper()
	if change != nil {
		change(&c)
	}
	require.Empty(t, c.Validate())
	a, err := asking.Open(c, asking.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func say(text string) func(chattest.Call) chattest.Reply {
	return func(chattest.Call) chattest.Reply { return chattest.Say(text) }
}

func one(a *asking.Answerer, question string) (reward.Reply, reward.Evaluation) {
	asked := a.Begin()
	reply := asked.Answer(context.Background(), []byte(question))
	results := []reward.Evaluation{{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: 0, IsScoreValid: true}}}
	asked.End(results)
	return reply, results[0]
}

const polite = `{"messages":[{"role":"user","content":"Polite?"}]}`

// Promise: what is not a question is refused with the reason and is an outcome, and no model is
// asked.
func TestNotAQuestion(t *testing.T) {
	a, server := behind(t, say("yes"), func(c *asking.Config) { c.MaxChars = 2000 })
	for text, want := range map[string]reward.Reply{
		"":                     {Kind: replykind.Malformed, Text: "not the JSON"},
		"{}":                   {Kind: replykind.Malformed, Text: "0 messages"},
		`{"messages":"hello"}`: {Kind: replykind.Malformed, Text: "messages"},
		`{"messages":[{"role":"tool","content":"x"}]}`:                                 {Kind: replykind.Malformed, Text: "message 0 needs a role"},
		`{"messages":[{"role":"user"}]}`:                                               {Kind: replykind.Malformed, Text: "message 0 needs"},
		`{"messages":[{"role":"user","content":"x"}],"temperature":2}`:                 {Kind: replykind.Malformed, Text: "temperature"},
		`{"messages":[{"role":"user","content":"x"}],"seed":-1}`:                       {Kind: replykind.Malformed, Text: "the seed is -1"},
		`{"messages":[{"role":"user","content":"x"}],"max_tokens":99999}`:              {Kind: replykind.Malformed, Text: "ask.max_tokens"},
		`{"messages":[{"role":"user","content":"x"}],"schema":{"type":7}}`:             {Kind: replykind.Malformed, Text: "not a JSON Schema"},
		`{"messages":[{"role":"user","content":"x"}],"schema":{"$ref":"file:///etc"}}`: {Kind: replykind.Malformed, Text: "not a JSON Schema"},
		`{"messages":[` + strings.Repeat(`{"role":"user","content":""},`, 60) + `1]}`:  {Kind: replykind.Malformed, Text: "messages"},
		"text\n\xff": {Kind: replykind.Malformed, Text: "UTF-8"},
		`{"messages":` + strings.Repeat("[", 1500): {Kind: replykind.Malformed, Text: "deep"},
		"text\n" + strings.Repeat("x", 2000):       {Kind: replykind.TooLong, Text: "ask.max_chars"},
	} {
		reply, e := one(a, text)
		require.Equal(t, want.Kind, reply.Kind, text)
		require.Contains(t, reply.Text, want.Text, text)
		require.Equal(t, want.Outcome(), e.Outcome)
		require.False(t, e.Result.IsScoreValid)
	}
	require.Empty(t, server.Calls())
}

// Promise: every way in which a model fails is one outcome with a reason, although the reward
// returned the score 0; an answer with a schema is put once more if it does not fit.
func TestFailures(t *testing.T) {
	schema := `{"messages":[{"role":"user","content":"Polite?"}],"schema":{"type":"object","required":["polite"]}}`
	for name, c := range map[string]struct {
		reply   chattest.Reply
		kind    replykind.Kind
		outcome reward.Outcome
		text    string
	}{
		"fits":     {chattest.Say("Here: {\"polite\": 1}"), replykind.Answered, reward.Scored, `{"polite":1}`},
		"misfit":   {chattest.Say(`{"rude": 1}`), replykind.Unusable, reward.ABIViolation, "does not fit its schema"},
		"prose":    {chattest.Say("Yes."), replykind.Unusable, reward.ABIViolation, "not JSON"},
		"filtered": {chattest.Answer{Text: "{", Finish: "content_filter"}.Reply(), replykind.Declined, reward.ABIViolation, "filter"},
		"context":  {chattest.Fail(400, "exceed_context_size_error", "too long"), replykind.TooLong, reward.OutputLimit, "context"},
		"broken":   {chattest.Fail(500, "", "out of memory"), replykind.Unavailable, reward.Infrastructure, "500"},
		"no key":   {chattest.Fail(401, "", "who?"), replykind.Unavailable, reward.Infrastructure, "401"},
	} {
		a, server := behind(t, func(chattest.Call) chattest.Reply { return c.reply }, nil)
		reply, e := one(a, schema)
		require.Equal(t, c.kind, reply.Kind, "%s: %s", name, reply.Text)
		require.Contains(t, reply.Text, c.text, name)
		require.Equal(t, c.outcome, e.Outcome, name)
		require.Equal(t, name == "no key", e.Fatal != nil, name)
		require.Equal(t, c.kind == replykind.Answered, e.Result.IsScoreValid, name)
		if c.kind == replykind.Unusable {
			require.Len(t, server.Calls(), 2, name)
		}
	}
}

// Promise: a question without an answer in time is a time-out.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	a, _ := behind(t, func(chattest.Call) chattest.Reply { <-release; return chattest.Say("late") }, func(c *asking.Config) { c.Timeout = 20 * time.Millisecond })
	reply, e := one(a, polite)
	close(release)
	require.Equal(t, replykind.TimedOut, reply.Kind, reply.Text)
	require.Contains(t, reply.Text, "ask.timeout")
	require.Equal(t, reward.Timeout, e.Outcome)
}

// Promise: an evaluation asks no more than it may; the first question without an answer is the last
// one that reaches anything, and all members of a group share its outcome.
func TestLimitsOfAnEvaluation(t *testing.T) {
	for limit, change := range map[string]func(*asking.Config){
		"ask.calls":  func(c *asking.Config) { c.Calls = 1 },
		"ask.tokens": func(c *asking.Config) { c.Tokens, c.MaxTokens = 120, 100 },
		"ask.cost": func(c *asking.Config) {
			c.Cost, c.MaxTokens, c.Server.Budget.OutputPrice = 120e-6, 100, 1
			c.Server.Budget.InputPrice = 1
		},
	} {
		a, server := behind(t, say(strings.Repeat("yes ", 4)), change)
		asked := a.Begin()
		first := asked.Answer(t.Context(), []byte(polite))
		require.Equal(t, replykind.Answered, first.Kind, limit)
		for range 3 {
			reply := asked.Answer(t.Context(), []byte(`{"messages":[{"role":"user","content":"And kind?"}]}`))
			require.Equal(t, replykind.OverLimit, reply.Kind, limit)
			require.Contains(t, reply.Text, limit)
		}
		results := make([]reward.Evaluation, 3)
		asked.End(results)
		for _, e := range results {
			require.Equal(t, reward.OutOfFuel, e.Outcome)
		}
		require.Len(t, server.Calls(), 1)
	}
	a, _ := behind(t, say("yes"), func(c *asking.Config) { c.RunCalls = 1 })
	_, e := one(a, polite)
	require.Equal(t, reward.Scored, e.Outcome)
	_, e = one(a, polite)
	require.Equal(t, reward.Scored, e.Outcome, "it is kept")
	_, e = one(a, "text\nAnother one?")
	require.ErrorContains(t, e.Fatal, "ask.run_calls")
}

// Promise: a run counts its questions over all its processes, also those of a process that was
// killed while it wrote; each grant of a configuration has its own count, and a run that asked
// all that it may asks no more after it is resumed, but still has its answers.
func TestQuestionsOfARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	three := func(c *asking.Config) { c.RunCalls = 3 }
	question := func(n int) string { return fmt.Sprintf("text\nIs %d polite?", n) }
	first, server := behind(t, say("yes"), three)
	_, e := one(first, question(0)) // before the run has a folder
	require.NoError(t, e.Fatal)
	require.NoError(t, first.Record(dir, 0))
	_, e = one(first, question(1))
	require.NoError(t, e.Fatal)

	path := filepath.Join(dir, "asked-0.log")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)-5], 0o644), "a kill")
	resumed, again := behind(t, say("yes"), three)
	require.NoError(t, resumed.Record(dir, 0))
	_, e = one(resumed, question(1))
	require.NoError(t, e.Fatal)
	require.Empty(t, again.Calls(), "the answer is kept")
	_, e = one(resumed, question(2))
	require.NoError(t, e.Fatal)
	_, e = one(resumed, question(3))
	require.ErrorContains(t, e.Fatal, "all 3 questions that it may (ask.run_calls), 2 of them before it was resumed")
	require.Len(t, again.Calls(), 1)
	require.Len(t, server.Calls(), 2)

	other, _ := behind(t, say("yes"), three)
	require.NoError(t, other.Record(dir, 1), "another grant of the same run")
	_, e = one(other, question(3))
	require.NoError(t, e.Fatal)
	next := filepath.Join(t.TempDir(), "answers")
	require.NoError(t, resumed.Record(next, 0), "another run")
	for n := range 3 {
		_, e = one(resumed, question(10+n))
		require.NoError(t, e.Fatal)
	}
	_, e = one(resumed, question(20))
	require.ErrorContains(t, e.Fatal, "ask.run_calls")
	require.ErrorContains(t, other.Record(path, 0), "cannot be counted")
}

// Promise: the same question has one answer, which a note and a folder keep without the tokens that
// servers count differently; from either, the evaluation is repeated without the model.
func TestAnswersAreKept(t *testing.T) {
	n := 0
	changing := func(chattest.Call) chattest.Reply {
		n++
		return chattest.Answer{Text: strings.Repeat("yes ", n), Prompt: n}.Reply()
	}
	dir := t.TempDir()
	a, server := behind(t, changing, func(c *asking.Config) { c.Cache = dir })
	first, e := one(a, polite)
	again, _ := one(a, polite)
	require.Equal(t, first, again)
	require.Equal(t, 1, a.Asked().Cached)
	note, err := asking.ReadNote(e.Notes[""])
	require.NoError(t, err)
	require.Equal(t, "yes ", note.Asked[0].Answer)

	b, other := behind(t, changing, func(c *asking.Config) { c.Cache = dir })
	kept, f := one(b, polite)
	require.Equal(t, first, kept)
	require.Equal(t, e.Notes, f.Notes)
	require.Empty(t, other.Calls())

	c := asking.DefaultConfig()
	s := chat.DefaultConfig()
	s.URL, s.Model, s.KeyEnv = "http://127.0.0.1:1/v1", "small", "NO_SUCH_KEY"
	c.Server = &s
	record := asking.Record{}
	record.Add(note)
	r := opened(t, *c.From(record), nil)
	require.Equal(t, a.Identity(), r.Identity(), "it is the same reward")
	recorded, g := one(r, polite)
	require.Equal(t, first, recorded)
	require.Equal(t, e.Notes, g.Notes)
	_, g = one(r, "text\nAnother one?")
	require.Equal(t, reward.ABIViolation, g.Outcome, "a difference, not a fault of the machine")
	require.Contains(t, g.Reason, "recorded no answer")
	require.Len(t, server.Calls(), 1)
}

// Promise: a file answers by the first rule that fits, and a file that is not a list of rules is
// refused with an example.
func TestAFileAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.json")
	c := asking.DefaultConfig()
	c.Answers = file
	for text, want := range map[string]string{"": "not a list", "[{}]": "number 1", `[{"answer":1,"fails":"timeout"}]`: "both", `[{"fails":"sleep"}]`: "timeout, unavailable"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := asking.Open(c, asking.Options{})
		require.ErrorContains(t, err, want, text)
		require.Contains(t, fault.As(err).Hint, `"contains"`)
	}
	rules, err := json.Marshal([]any{
		map[string]any{"contains": []string{"Dear", "Sir"}, "answer": map[string]any{"polite": 1}}, map[string]any{"contains": []string{"late"}, "fails": "timeout"},
		map[string]any{"contains": []string{"no"}, "fails": "declined"}, map[string]any{"contains": []string{"Dear"}, "answer": "yes"},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, rules, 0o600))
	a := opened(t, c, nil)
	for question, want := range map[string]reward.Reply{
		"Dear Sir": {Kind: replykind.Answered, Text: `{"polite":1}`}, "Dear Ms": {Kind: replykind.Answered, Text: "yes"},
		"too late": {Kind: replykind.TimedOut}, "no": {Kind: replykind.Declined}, "Hi": {Kind: replykind.Unavailable, Text: "no rule fits the question Hi"},
	} {
		reply, _ := one(a, "text\n"+question)
		require.Equal(t, want.Kind, reply.Kind, question)
		require.Contains(t, reply.Text, want.Text, question)
	}
}

// Promise: whatever a guest asks, the reply is a known kind with text that is valid UTF-8.
func FuzzQuestion(f *testing.F) {
	file := filepath.Join(f.TempDir(), "model.json")
	require.NoError(f, os.WriteFile(file, []byte(`[{"answer": "yes"}]`), 0o600))
	c := asking.DefaultConfig()
	c.Answers = file
	a, err := asking.Open(c, asking.Options{})
	require.NoError(f, err)
	for _, seed := range []string{polite, "text\nx", "", "{", `{"messages":[{"role":"user","content":"x"}],"schema":{"enum":["yes"]}}`, "text\n\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, question []byte) {
		reply := a.Begin().Answer(context.Background(), question)
		require.Contains(t, replykind.All, reply.Kind)
		require.Equal(t, strings.ToValidUTF8(reply.Text, ""), reply.Text)
	})
}
