package councils_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/council/councils"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// exact compares the answer with the ground truth; it cannot score 13.
type exact struct{}

func (exact) Info() reward.Info { return reward.Info{Name: "exact", Digest: "sha256:1"} }

func (exact) Evaluate(_ context.Context, t *rl.Trajectory) reward.Evaluation {
	said := t.Messages[len(t.Messages)-1].Content.Text()
	if said == "13" {
		return reward.Evaluation{Outcome: reward.OutOfFuel, Reason: "it thought too long"}
	}
	e := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
	if `"`+said+`"` == string(t.GroundTruth) {
		e.Result.Score = 1
	}
	return e
}

func load(t *testing.T, overrides ...string) *councils.Config {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tasks.jsonl"), []byte(`{"id":"t","prompt":"3 × 5?","ground_truth":"15"}`+"\n"), 0o644))
	path := filepath.Join(dir, "council.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
tasks: {file: tasks.jsonl, repeat: 2}
council: {credit: own}
members:
  - {name: a, script: {answers: ["15"], votes: ["15"]}}
  - {name: b, script: {answers: ["13"], votes: ["15"]}}
  - {name: c, script: {answers: ["12"], votes: ["12"]}}
`), 0o644))
	c, err := councils.Load(path, overrides...)
	require.NoError(t, err)
	return c
}

// Promise: a real store contains decisions as traces with their rewards; shares are stored
// with the agents' conversations; a failed reward gives no number to any agent.
func TestDecisionsInAStore(t *testing.T) {
	store, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	require.NoError(t, err)
	defer store.Close()
	run := func(c *councils.Config, name string) []councils.Decision {
		list, err := councils.Run(t.Context(), c, councils.Options{Sink: store, Run: name, Parallel: 2, Session: []merit.Option{merit.WithScorer(exact{}, 1)}})
		require.NoError(t, err)
		return list
	}
	list := run(load(t), "one")
	require.Len(t, list, 2)
	for i, d := range list {
		require.Equal(t, "15", d.Answer)
		require.InDelta(t, 1, *d.Score, 0)
		require.Equal(t, []any{1.0, nil, 0.0}, values(d.Credit))
		require.Equal(t, []string{"scored", "out_of_fuel", "scored"}, []string{d.Agents[0].Outcome, d.Agents[1].Outcome, d.Agents[2].Outcome})
		require.Nil(t, d.Agents[1].Evaluation)
		require.Equal(t, i, d.Repeat)
	}
	require.Equal(t, list[0].Agents[0].Group, list[1].Agents[0].Group)
	require.NotEqual(t, list[0].Agents[0].ID, list[1].Agents[0].ID)
	page, err := store.List(t.Context(), trace.Query{Agents: []string{"a"}})
	require.NoError(t, err)
	require.Len(t, page.Heads, 2)
	whole, err := store.Trace(t.Context(), page.Heads[0].ID)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "council"}, whole.Agents())
	require.InDelta(t, 1, *whole.Reward, 0)
	require.Equal(t, trace.StatusOK, whole.Status)

	lost := run(load(t, "members.0.script.answers=[\"13\"]", "members.0.script.votes=[\"13\"]", "members.1.script.votes=[\"13\"]"), "two")
	require.Nil(t, lost[0].Score)
	require.Equal(t, reward.OutOfFuel, lost[0].Outcome)
	require.Equal(t, "it thought too long", lost[0].Reason)
}

func values(list []*float64) (out []any) {
	for _, x := range list {
		if x == nil {
			out = append(out, nil)
		} else {
			out = append(out, *x)
		}
	}
	return out
}

// Promise: decisions are the same at any parallelism; stopping the command is reported.
func TestParallelDecisions(t *testing.T) {
	text := func(parallel int) string {
		list, err := councils.Run(t.Context(), load(t, "tasks.repeat=9"), councils.Options{Parallel: parallel})
		require.NoError(t, err)
		b, err := json.Marshal(list)
		require.NoError(t, err)
		return string(b)
	}
	require.Equal(t, text(1), text(5))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := councils.Run(ctx, load(t), councils.Options{})
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
}

// Promise: the example configuration is valid, and the schema gives editors every key.
func TestExampleAndSchema(t *testing.T) {
	c, err := councils.Load(filepath.Join(testneeds.Root(), "examples", "council", "council.yaml"))
	require.NoError(t, err)
	require.Len(t, c.Members, 3)
	text, err := councils.Schema()
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct{ Description string }
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	for key, p := range schema.Properties {
		require.NotEmpty(t, p.Description, key)
	}
}
