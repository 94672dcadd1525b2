package optimize_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/internal/prompt/optimize"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// server is a model that answers with the correct word only if its prompt says "one word", a
// judge that scores 1 for one word, and an editor that finds this out.
func server(t *testing.T) *chattest.Server {
	return chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("small", "judge")
		}
		var model string
		var messages []rl.Message
		c.Field(t, "model", &model)
		c.Field(t, "messages", &messages)
		system, user := messages[0].Content.Text(), messages[1].Content.Text()
		switch {
		case model == "judge":
			score := 0
			if strings.Contains(user, `"content":"yes"`) {
				score = 1
			}
			return chattest.Say(fmt.Sprintf(`{"1":{"explanation":"so it is","score":%d}}`, score))
		case strings.Contains(user, "<critique>"):
			return chattest.Say(`{"prompt":"Answer in one word."}`)
		case strings.Contains(user, "<example>"):
			return chattest.Say("It should ask for one word.")
		case strings.HasPrefix(system, "You are an expert"):
			return chattest.Say(`{"prompt":"Reply."}`)
		case strings.Contains(system, "one word"):
			return chattest.Answer{Text: "yes", Prompt: 20}.Reply()
		}
		return chattest.Answer{Text: "Well, yes and no.", Prompt: 20}.Reply()
	})
}

// write creates a folder with a configuration and its tasks.
func write(t *testing.T, url string) (config string) {
	dir := t.TempDir()
	for name, from := range map[string]int{"train.jsonl": 0, "held.jsonl": 100} {
		var text bytes.Buffer
		for i := range 12 {
			fmt.Fprintf(&text, `{"id":"%d","prompt":"question %d","ground_truth":"yes"}`+"\n", from+i, from+i)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o644))
	}
	config = filepath.Join(dir, "apo.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
prompt: Answer.
tasks: {train: train.jsonl, held_out: held.jsonl}
rewards: [{judge: {mode: independent, score_step: 0, server: {url: %q, model: judge}}}]
model: {server: {url: %q, model: small, retries: 0}}
search: {rounds: 2, minibatch: 4, select: {plays: 24}}
`, url, url), 0o644))
	return config
}

func files(t *testing.T, dir string) string {
	var all strings.Builder
	for _, name := range []string{optimize.JournalFile, optimize.ResultFile, optimize.PromptFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

func run(t *testing.T, c *optimize.Config, dir string) *prompt.Result {
	t.Helper()
	r, err := optimize.Run(t.Context(), c, optimize.Options{Dir: dir})
	require.NoError(t, err)
	return r
}

// Promise: the cost of a search is that of every request at the prices of its configuration, by
// use, over all processes: a search that is resumed adds to it, and one that is finished does not.
// A limit of cost needs no other prices.
func TestCost(t *testing.T) {
	s := server(t)
	at := `prices={currency: EUR, models: [{model: small, input: 1, output: 2}, {model: "jud*", input: 10}]}`
	c, err := optimize.Load(write(t, s.URL), at, "search.rounds=1", "model.server.budget.cost=1", "model.server.cassettes.mode=off")
	require.NoError(t, err)
	dir := t.TempDir()
	r := run(t, c, dir)
	first, err := optimize.ReadCost(dir)
	require.NoError(t, err)
	require.Equal(t, "EUR", first.Currency)
	plays, editor, judge := first.Answers["small"], first.Editor["small"], first.Rewards["judge"]
	require.Equal(t, [2]int{r.Plays.Calls, r.Spent.Calls}, [2]int{plays.Calls, plays.Calls + editor.Calls})
	require.Equal(t, r.Spent.PromptTokens, plays.Prompt+editor.Prompt)
	require.Equal(t, r.Plays.Calls, judge.Calls)
	require.InDelta(t, float64(plays.Prompt+2*plays.Completion)/1e6, plays.Money, 1e-12)
	require.InDelta(t, float64(judge.Prompt)/1e5, judge.Money, 1e-12)

	run(t, c, dir)
	again, err := optimize.ReadCost(dir)
	require.NoError(t, err)
	require.Equal(t, first, again, "a finished search asks nothing")

	path := filepath.Join(dir, optimize.JournalFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1], 0o644))
	run(t, c, dir)
	again, err = optimize.ReadCost(dir)
	require.NoError(t, err)
	require.Equal(t, plays.Calls+1, again.Answers["small"].Calls, "the lost answer was paid for twice")

	require.NoError(t, os.WriteFile(filepath.Join(dir, optimize.CostFile), []byte(`{"answers":{"small":{"calls":"x"}}}`), 0o644))
	_, err = optimize.Run(t.Context(), c, optimize.Options{Dir: dir})
	require.ErrorContains(t, err, "is not what a search used")
}

// Promise: a search with real connections finds the better prompt, and its state is entirely
// in the folder: a journal that a kill cut anywhere resumes to the same bytes, and a finished
// one sends no request.
func TestASearchInAFolder(t *testing.T) {
	testneeds.NotShort(t)
	s := server(t)
	c, err := optimize.Load(write(t, s.URL))
	require.NoError(t, err)
	whole := filepath.Join(t.TempDir(), "whole")
	r := run(t, c, whole)
	require.Equal(t, prompt.Raised, r.Difference.Verdict, r.Sentence)
	require.Equal(t, "Answer in one word.", r.Prompt)
	want := files(t, whole)

	journal, err := os.ReadFile(filepath.Join(whole, optimize.JournalFile))
	require.NoError(t, err)
	for _, size := range []int{0, 7, len(journal) / 3, len(journal) / 2, len(journal) - 5, len(journal)} {
		again := filepath.Join(t.TempDir(), "again")
		require.NoError(t, os.MkdirAll(again, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(again, optimize.JournalFile), journal[:size], 0o644))
		asked := len(s.Asked())
		c.Model.Server.MaxConcurrent = 1 + size%7
		run(t, c, again)
		require.Equal(t, want, files(t, again))
		if size == len(journal) {
			require.Len(t, s.Asked(), asked)
		}
	}

	c.Search.Beam = 2
	_, err = optimize.Run(t.Context(), c, optimize.Options{Dir: whole})
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
	require.ErrorContains(t, err, "changed: search")
	c.Search.Beam = 3
	require.NoError(t, os.WriteFile(filepath.Join(whole, optimize.JournalFile), bytes.Replace(journal, []byte("\n{"), []byte("\n?"), 1), 0o644))
	_, err = optimize.Run(t.Context(), c, optimize.Options{Dir: whole})
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Corrupt))
	require.ErrorContains(t, err, "journal.jsonl:2")
}

// Promise: a search that the user stops keeps the answers that it paid for.
func TestAStoppedSearchGoesOn(t *testing.T) {
	s := server(t)
	c, err := optimize.Load(write(t, s.URL))
	require.NoError(t, err)
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "search")
	run(t, c, whole)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = optimize.Run(ctx, c, optimize.Options{Dir: dir, Progress: func(p prompt.Progress) {
		if p.Spent.Calls == 20 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
	journal, err := os.ReadFile(filepath.Join(dir, optimize.JournalFile))
	require.NoError(t, err)
	require.GreaterOrEqual(t, bytes.Count(journal, []byte("\n")), 21)
	require.NoFileExists(t, filepath.Join(dir, optimize.ResultFile))
	run(t, c, dir)
	require.Equal(t, files(t, whole), files(t, dir))
}

// Promise: all problems are reported at once with their location; tasks in both files, and
// rewards that compare members, are rejected.
func TestWhatIsWrong(t *testing.T) {
	silent := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return chattest.Fail(404, "", "no list of models") })
	path := write(t, silent.URL)
	_, err := optimize.Load(path, `prompt=""`, "search.beam=0", `model.server.model=""`, "search.select.method=best", "tasks.map={prompt: q, messages: m}", "rewards.0.judge.mode=vote", "budget.calls=-1")
	for _, want := range []string{"prompt: no prompt is set", "search.beam: 0", "model.server.model: no model", "search.select.method: \"best\"", "tasks.map: ", "rewards[0].judge.mode", "budget.calls: -1"} {
		require.ErrorContains(t, err, want)
	}
	c, err := optimize.Load(path, "tasks.held_out="+filepath.Join(filepath.Dir(path), "train.jsonl"))
	require.NoError(t, err)
	_, err = optimize.Run(t.Context(), c, optimize.Options{Dir: t.TempDir()})
	require.ErrorContains(t, err, "12 of its tasks are also in")
	c, err = optimize.Load(path, "rewards.0.judge.mode=ruler")
	require.NoError(t, err)
	_, err = optimize.Run(t.Context(), c, optimize.Options{Dir: t.TempDir()})
	require.ErrorContains(t, err, "compares the members of a group")
	c, err = optimize.Load(path, "budget.calls=30")
	require.NoError(t, err)
	_, err = optimize.Run(t.Context(), c, optimize.Options{Dir: t.TempDir()})
	require.ErrorContains(t, err, "budget.calls: 30 calls are fewer than the 77")
}

// Promise: without a file of held-out tasks, a share is held out by the tasks' content and not
// by their order; the resolved file loads to the same configuration.
func TestTheSplitAndTheResolvedFile(t *testing.T) {
	s := server(t)
	path := write(t, s.URL)
	first, err := optimize.Load(path, `tasks.held_out=""`, "tasks.held_out_share=0.25")
	require.NoError(t, err)
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	r := run(t, first, a)
	require.Equal(t, 9, r.Tasks)
	require.Equal(t, 3, r.HeldOut[0].HeldOut.N)
	second, err := optimize.Load(filepath.Join(a, optimize.ConfigFile))
	require.NoError(t, err)
	run(t, second, b)
	require.Equal(t, files(t, a), files(t, b))
}

// Promise: the schema gives editors every key with its meaning and its allowed words.
func TestSchema(t *testing.T) {
	text, err := optimize.Schema()
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			Description string
			Properties  map[string]struct{ Enum []any }
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	for key, p := range schema.Properties {
		require.NotEmpty(t, p.Description, key)
	}
	require.Equal(t, []any{"system", "template"}, schema.Properties["search"].Properties["place"].Enum)
}

// Promise: the example's configuration is valid, and no task is in both splits.
func TestExampleLoads(t *testing.T) {
	c, err := optimize.Load(filepath.Join(testneeds.Root(), "examples", "apo", "apo.yaml"))
	require.NoError(t, err)
	require.NotNil(t, c.Editor)
}
