package archive

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/interchange"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

var day = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// sample is a trace of two calls, a tool and a reward.
func sample(t *testing.T, id, agent string) *trace.Trace {
	say := func(role, text string) rl.Message { return rl.Message{Role: role, Content: rl.Text(text)} }
	question, asked, found, answer := say("user", "6 × 7 <?>"), say("assistant", "I look"), say("user", "42"), say("assistant", "42")
	span := func(id string, second int, kind trace.Kind) trace.Span {
		at := day.Add(time.Duration(second) * time.Second)
		return trace.Span{Trace: id, ID: id, Agent: agent, Kind: kind, Name: "n", Start: at, End: at.Add(time.Millisecond), Status: trace.StatusOK}
	}
	first, tool, last, reward := span("a", 0, trace.KindPrompt), span("b", 1, trace.KindTool), span("c", 2, trace.KindPrompt), span("d", 3, trace.KindReward)
	first.Prompt = &trace.Prompt{Messages: []rl.Message{question}, Answer: &asked}
	tool.Tool = &trace.Tool{Arguments: "{}", Result: "42"}
	last.Prompt = &trace.Prompt{Messages: []rl.Message{question, asked, found}, Answer: &answer}
	reward.Reward = &trace.Reward{Outcome: "scored", Score: new(0.5)}
	x := &trace.Trace{Head: trace.Head{ID: id, Task: "product", Status: trace.StatusOK, Metadata: map[string]json.RawMessage{"ground_truth": json.RawMessage(`"42"`), "n": json.RawMessage(`1`)}}, All: []trace.Span{first, tool, last, reward}}
	for i := range x.All {
		x.All[i].Trace = id
	}
	require.NoError(t, x.Settle())
	return x
}

// gather is all that Read gives, by the ids of traces.
func gather(t *testing.T, path string, bad *Bad) map[string]*trace.Trace {
	all := map[string]*trace.Trace{}
	of := func(id string) *trace.Trace {
		if all[id] == nil {
			all[id] = &trace.Trace{Head: trace.Head{ID: id}}
		}
		return all[id]
	}
	require.NoError(t, Read(path, bad, func(spans []trace.Span, about []trace.About) error {
		for _, a := range about {
			x := of(a.Trace)
			x.Agent, x.Task, x.Status, x.Metadata = a.Agent, a.Task, a.Status, a.Metadata
		}
		for _, s := range spans {
			x := of(s.Trace)
			x.All = append(x.All, s)
		}
		return nil
	}))
	for _, x := range all {
		require.NoError(t, x.Settle())
	}
	return all
}

func asJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func lines(t *testing.T, path string, enough int, traces ...*trace.Trace) {
	w, err := jsonl.Create(path, nil)
	require.NoError(t, err)
	for _, x := range traces {
		require.NoError(t, writeLines(w, x, enough))
	}
	require.NoError(t, w.Close())
}

// Promise: lines give back the traces that were written, also where one is too
// long for a line, and compressed.
func TestLines(t *testing.T) {
	a, b := sample(t, "t1", "ada"), sample(t, "t2", "")
	for _, name := range []string{"x.jsonl", "x.jsonl.zst"} {
		for _, enough := range []int{1, 700, enough} {
			path := filepath.Join(t.TempDir(), name)
			lines(t, path, enough, a, b)
			var bad Bad
			got := gather(t, path, &bad)
			require.NoError(t, bad.Err(path))
			require.JSONEq(t, asJSON(t, a), asJSON(t, got["t1"]))
			require.JSONEq(t, asJSON(t, b), asJSON(t, got["t2"]))
		}
	}
}

// Promise: a tree has a file for each trace where the guide looks for it and an
// index of them, gets more, and gives back what was written; names of strangers
// do not lead out of it.
func TestTree(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tree")
	a, b := sample(t, "t1", "ada"), sample(t, "..", "../../etc")
	for _, x := range []*trace.Trace{a, b, a} {
		tree, err := CreateTree(folder)
		require.NoError(t, err)
		require.NoError(t, tree.Put(x))
		require.NoError(t, tree.Close())
	}
	index, err := ReadIndex(folder)
	require.NoError(t, err)
	require.Len(t, index.Traces, 2)
	require.FileExists(t, filepath.Join(folder, "traces/2026-11-01/ada/trace_t1.json"))
	var bad Bad
	got := gather(t, folder, &bad)
	require.NoError(t, bad.Err(folder))
	require.JSONEq(t, asJSON(t, a), asJSON(t, got["t1"]))
	require.JSONEq(t, asJSON(t, b), asJSON(t, got[".."]))
	var outside []string
	require.NoError(t, filepath.WalkDir(filepath.Dir(folder), func(at string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(folder, at); !d.IsDir() && strings.HasPrefix(rel, "..") {
			outside = append(outside, at)
		}
		return err
	}))
	require.Empty(t, outside)

	moved := sample(t, "t1", "ben") // its agent became known: another file, and only one
	tree, err := CreateTree(folder)
	require.NoError(t, err)
	require.NoError(t, tree.Put(moved))
	require.NoError(t, tree.Close())
	require.NoFileExists(t, filepath.Join(folder, "traces/2026-11-01/ada/trace_t1.json"))
	require.FileExists(t, filepath.Join(folder, "traces/2026-11-01/ben/trace_t1.json"))
}

// Promise: a folder of something else is not written to, and an index cannot
// name files out of its tree.
func TestTreeRefuses(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "letter.txt"), nil, 0o600))
	_, err := CreateTree(folder)
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
	_, err = ReadIndex(folder)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Missing))

	require.NoError(t, os.Mkdir(filepath.Join(folder, "metadata"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, IndexFile), []byte(`{"version":1,"traces":[{"id":"a","path":"../x"},{"id":"b","path":"traces/b.json"}]}`), 0o600))
	var bad Bad
	require.Empty(t, gather(t, folder, &bad))
	require.ErrorContains(t, bad.Err(folder), "leads outside the tree")
	require.Equal(t, 2, bad.Count)
	require.NoError(t, os.WriteFile(filepath.Join(folder, IndexFile), []byte(`{"version":2}`), 0o600))
	_, err = ReadIndex(folder)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Protocol))
}

// Promise: a trajectory that was made of a trace gives back its calls, tools,
// times and what is known of it.
func TestTrajectoryGoesBack(t *testing.T) {
	want := sample(t, "t1", "ada")
	got, err := Trace(want.Trajectory(), day.AddDate(1, 0, 0))
	require.NoError(t, err)
	want.All = want.All[:3] // a trajectory has no rewards but its own
	require.NoError(t, want.Settle())
	require.JSONEq(t, asJSON(t, want), asJSON(t, got))

	quiet := sample(t, "t2", "ada")
	quiet.All = quiet.All[1:2] // no call was recorded: the tool is the conversation
	require.NoError(t, quiet.Settle())
	got, err = Trace(quiet.Trajectory(), day)
	require.NoError(t, err)
	require.JSONEq(t, asJSON(t, quiet), asJSON(t, got))

	told := want.Trajectory()
	told.Steps, told.Outcome, told.Evaluation, told.ID = nil, "scored", &rl.EvaluateResult{Score: 2, IsScoreValid: true}, "an id of/others"
	plain, err := Trace(told, day)
	require.NoError(t, err)
	require.Len(t, plain.All, 4)
	require.Equal(t, 2.0, *plain.Reward)
	require.True(t, strings.HasPrefix(plain.ID, "an-id-of-others-"))
}

// Promise: all that cannot be used is listed with its place, and the rest is
// read.
func TestBadLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	good := sample(t, "t1", "ada")
	alone := good.All[1]
	alone.ID = "alone"
	text := bytes.Join([][]byte{
		[]byte(asJSON(t, good)), []byte(`{"a": 1}`), []byte(`nonsense`), []byte(`{"id":"b","spans":[{"id":"x y"}]}`), []byte(`{"kind":"tool"}`), []byte(`{"messages":[]}`),
		[]byte(asJSON(t, alone)),
	}, []byte("\n"))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	var bad Bad
	require.Len(t, gather(t, path, &bad), 1)
	require.Equal(t, 5, bad.Count)
	for _, part := range []string{"x.jsonl:2: neither", "x.jsonl:3: not a JSON", "x.jsonl:4: ", "x y", "x.jsonl:5: ", "x.jsonl:6: messages is empty"} {
		require.ErrorContains(t, bad.Err(path), part)
	}
}

// Promise: a rollout that is imported keeps what its environment attached to steps and the tokens
// that its model was given, so that rewards score it as they did and learners learn from it.
func TestRolloutsKeepTheirSteps(t *testing.T) {
	said := func(role, text string) rl.Message { return rl.Message{Role: role, Content: rl.Text(text)} }
	step := func(i int, p *rl.Prompt, info string, ids ...int32) rl.Step {
		s := rl.Step{Index: i, MessageCount: 2*i + 1, ActionValid: true, Prompt: p, Info: map[string]json.RawMessage{"note": json.RawMessage(info)}}
		for _, id := range ids {
			s.Tokens = append(s.Tokens, rl.Token{ID: id, LogProb: -0.5})
		}
		return s
	}
	played := &rl.Trajectory{
		ID: "train-g0-m0", Task: "t", StopReason: rl.StopTerminated,
		Messages: []rl.Message{said("user", "a"), said("assistant", "b"), said("user", "c"), said("assistant", "d")},
		Steps: []rl.Step{
			step(0, rl.NewPrompt(nil, []int32{1, 2}), `{"x":[1]}`, 3),
			step(1, rl.NewPrompt([]int32{1, 2, 3}, []int32{1, 2, 3, 4}), `"y"`, 5, 6),
		},
	}
	x, err := Trace(played, day)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4}, x.All[1].Prompt.PromptTokens)
	back := x.Trajectory()
	again, err := Trace(back, day.AddDate(1, 0, 0))
	require.NoError(t, err)
	require.JSONEq(t, asJSON(t, x), asJSON(t, again))
	for i := range played.Steps {
		require.Equal(t, played.Steps[i].Prompt, back.Steps[i].Prompt)
		require.Equal(t, played.Steps[i].Tokens, back.Steps[i].Tokens)
		require.Equal(t, played.Steps[i].Info["note"], back.Steps[i].Info["note"])
	}
}

// Promise: a trace that was made from an ATIF document, with sub-agents, gives the same
// document again.
func TestATIFThroughTraces(t *testing.T) {
	for _, name := range []string{"subagents.json", "v10.json", "continued.json", "tail.json"} {
		folder := os.DirFS("../../data/interchange/testdata/atif")
		text, err := fs.ReadFile(folder, name)
		require.NoError(t, err)
		text = modelled(t, text)
		open := func(path string) ([]byte, error) { return fs.ReadFile(folder, path) }
		before, err := interchange.ReadATIF(text, open, nil)
		require.NoError(t, err)
		traced, err := Trace(before, time.Unix(1_700_000_000, 0).UTC())
		require.NoError(t, err)
		told := traced.Trajectory()
		WithUsage(traced, told)
		after, err := interchange.WriteATIF(told)
		require.NoError(t, err)
		doc := map[string]any{}
		require.NoError(t, json.Unmarshal(after[0].Text, &doc))
		want := map[string]any{}
		require.NoError(t, json.Unmarshal(text, &want))
		want["schema_version"] = "ATIF-v1.7"
		if extra, _ := doc["extra"].(map[string]any); extra != nil {
			delete(extra, "merit") // the spans' times
			if len(extra) == 0 {
				delete(doc, "extra")
			}
		}
		require.Equal(t, untimed(want), untimed(doc), name) // spans have times, also where the document has none
	}
}

// untimed returns a document without the times of its steps.
func untimed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "timestamp")
		for _, x := range v {
			untimed(x)
		}
	case []any:
		for _, x := range v {
			untimed(x)
		}
	}
	return v
}

// modelled returns a document without the last of its sub-agents, which calls no model: a trace
// consists of calls.
func modelled(t *testing.T, text []byte) []byte {
	doc := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(text, &doc))
	var subs []json.RawMessage
	if doc["subagent_trajectories"] != nil {
		require.NoError(t, json.Unmarshal(doc["subagent_trajectories"], &subs))
		doc["subagent_trajectories"] = trace.JSON(subs[:len(subs)-1])
	}
	return trace.JSON(doc)
}

// Promise: token ids are in the spans of a trace only, where redaction removes them with a secret.
func TestTokensOnlyInSpans(t *testing.T) {
	const doc = `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"m","metrics":{"cost_usd":0.5,"completion_token_ids":[4711,4712]}}]}`
	told, err := interchange.ReadATIF([]byte(doc), nil, nil)
	require.NoError(t, err)
	require.Contains(t, string(told.Metadata[interchange.MetaATIF]), "4711")
	traced, err := Trace(told, time.Unix(1, 0).UTC())
	require.NoError(t, err)
	require.NotContains(t, string(trace.JSON(traced)), "4711")
	docs, err := interchange.WriteATIF(traced.Trajectory())
	require.NoError(t, err)
	require.Contains(t, string(docs[0].Text), `"cost_usd":0.5`)
}
