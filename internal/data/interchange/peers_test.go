package interchange_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// all reads a file as every command does.
func all(t *testing.T, path string) (list []*rl.Trajectory, notes []string) {
	t.Helper()
	in, err := jsonl.Open(path, nil)
	require.NoError(t, err)
	defer in.Close()
	for {
		got, err := in.NextTrajectory()
		if errors.Is(err, io.EOF) {
			return list, in.Notes()
		}
		require.NoError(t, err, path)
		list = append(list, got)
	}
}

// line is what a test compares of a trajectory.
type line struct {
	ID, Group string
	Roles     []string
	Answer    string // the last message
	Steps     int
	Tokens    [][]int32 // sampled in each step
	Outcome   string
	Score     float64
	Stop      rl.StopReason
}

func lineOf(x *rl.Trajectory) line {
	l := line{ID: x.ID, Group: x.Group, Steps: len(x.Steps), Outcome: x.Outcome, Stop: x.StopReason, Answer: x.Messages[len(x.Messages)-1].Content.Text()}
	for _, m := range x.Messages {
		l.Roles = append(l.Roles, m.Role)
	}
	for _, s := range x.Steps {
		var ids []int32
		for _, k := range s.Tokens {
			ids = append(ids, k.ID)
		}
		if ids != nil {
			l.Tokens = append(l.Tokens, ids)
		}
	}
	if x.Evaluation != nil {
		l.Score = x.Evaluation.Score
	}
	return l
}

func lines(list []*rl.Trajectory) (out []line) {
	for _, x := range list {
		out = append(out, lineOf(x))
	}
	return out
}

// Promise: what verifiers 0.4.0 stores is read with its groups, weighted rewards and
// tokens, each of which is in one step; a trace that failed has no score. make_verifiers.py wrote the file with the
// package's own classes and writer.
func TestVerifiers(t *testing.T) {
	list, notes := all(t, "testdata/peers/verifiers.jsonl")
	talk := []string{"user", "assistant", "user", "assistant"}
	require.Equal(t, []line{
		{"t1", "g1", []string{"user", "assistant", "tool", "assistant"}, "7", 2, [][]int32{{11, 12}, {13}}, "scored", 1.1, rl.StopTerminated},
		{"t2", "g1", slices.Concat(talk, talk), "9", 3, [][]int32{{21}, {22}, {23}}, "scored", 0.2, rl.StopTerminated},
		{"t4", "g1", slices.Concat(talk, talk), "8", 3, [][]int32{{30}, {31}, {32}}, "scored", 1, rl.StopTerminated},
		{"t3", "g1", []string{"user"}, "What is 3 + 4?", 0, nil, "", 0, rl.StopError},
	}, lines(list))
	require.Equal(t, []int32{1, 2, 3, 4}, list[0].Steps[0].Prompt.Tokens)
	require.Equal(t, -0.25, list[0].Steps[0].Tokens[1].LogProb)
	require.Equal(t, &rl.Prompt{Keep: 6, Tokens: []int32{5, 6, 4}}, list[0].Steps[1].Prompt, "the second prompt continues the first")
	require.Equal(t, &rl.Prompt{Keep: 5, Tokens: []int32{8, 4}}, list[1].Steps[2].Prompt, "after a rewritten history")
	require.Equal(t, 7, list[1].Steps[2].MessageCount)
	require.Equal(t, "ProviderError: no answer", list[3].Error)
	require.Equal(t, "add", list[0].Messages[1].ToolCalls[0].Function.Name)
	require.JSONEq(t, `"7"`, string(list[0].GroundTruth))
	require.Equal(t, []string{"1 × trace that failed: it has no score"}, notes)
}

// Promise: results of verifiers before its v1 API are read with their tokens, and one that ended in
// an error has no score. The fixture has the fields of verifiers/legacy/types.py of August 2026.
func TestVerifiersResults(t *testing.T) {
	list, notes := all(t, "testdata/peers/verifiers-results.jsonl")
	talk := []string{"user", "assistant"}
	require.Equal(t, []line{
		{"line-1", "3", slices.Concat(talk, talk), "7", 2, [][]int32{{11}, {12, 13}}, "scored", 0.75, rl.StopTerminated},
		{"line-2", "3", talk, "8", 1, nil, "scored", 0, rl.StopTruncated},
		{"line-3", "3", talk, "", 1, nil, "", 0, rl.StopError},
	}, lines(list))
	require.Equal(t, &rl.Prompt{Keep: 3, Tokens: []int32{3}}, list[0].Steps[1].Prompt)
	require.Equal(t, "the sandbox is gone", list[2].Error)
	exact, _ := list[0].Evaluation.Metrics.Get("exact")
	require.Equal(t, 1.0, exact.Score)
	require.JSONEq(t, `{"level":1}`, string(list[0].Metadata["info"]))
	require.Equal(t, []string{"1 × rollout that ended in an error: its reward is not a score"}, notes)
}

// Promise: logs of inspect-ai 0.3.285 are read in both of its forms, with the epochs of a
// sample as a group and a score that it could not give as none. make_inspect.py wrote them.
func TestInspect(t *testing.T) {
	for _, form := range []string{"eval", "json"} {
		list, notes := all(t, "testdata/peers/inspect."+form)
		require.Len(t, list, 4, form)
		byGroup := map[string][]*rl.Trajectory{}
		for _, x := range list {
			byGroup[x.Group] = append(byGroup[x.Group], x)
			require.False(t, math(x), "a scorer that gave no number has a valid metric")
		}
		require.Len(t, byGroup["shop/tea"], 2, form)
		for _, x := range byGroup["shop/tea"] {
			require.Equal(t, 1.0, x.Evaluation.Score, form)
			require.Equal(t, 2, len(x.Steps))
			require.Equal(t, "price", x.Messages[1].ToolCalls[0].Function.Name)
			require.JSONEq(t, `{"item":"tea"}`, x.Messages[1].ToolCalls[0].Function.Arguments)
			require.Equal(t, x.Messages[1].ToolCalls[0].ID, x.Messages[2].ToolCallID)
			require.JSONEq(t, `{"level":1}`, string(x.Metadata["sample_metadata"]))
		}
		require.Equal(t, 0.0, byGroup["shop/city"][0].Evaluation.Score)
		require.JSONEq(t, `["Paris","paris"]`, string(byGroup["shop/city"][0].GroundTruth))
		require.Contains(t, notes, "4 × sample with several scorers: the first gives the score, the others are metrics")
	}
}

// math reports whether the scorer that gives no number has a valid metric.
func math(x *rl.Trajectory) bool {
	m, found := x.Evaluation.Metrics.Get("undecided")
	return !found || m.IsScoreValid
}

// Promise: a dump of verl 0.9.1 is read with its groups, ground truths and scores.
// make_dumps.py wrote it by the statements of the package.
func TestVerl(t *testing.T) {
	list, notes := all(t, "testdata/peers/verl.jsonl")
	talk := []string{"user", "assistant"}
	require.Equal(t, []line{
		{"a_0_0", "step-12-a", talk, "7", 1, nil, "scored", 1, ""},
		{"a_1_0", "step-12-a", talk, "eight", 1, nil, "scored", 0, ""},
		{"b_0_0", "step-12-b", talk, "4", 1, nil, "scored", 0.25, ""},
	}, lines(list))
	require.JSONEq(t, `"7"`, string(list[0].GroundTruth))
	require.Nil(t, list[2].GroundTruth)
	require.Equal(t, json.RawMessage("true"), list[0].Metadata["acc"])
	require.Empty(t, notes)
}

// Promise: the completions that TRL 1.16.0 logs are read with their groups and the reward of
// each function, and what the file does not say of their weights is said.
func TestTRL(t *testing.T) {
	list, notes := all(t, "testdata/peers/trl.parquet")
	require.Len(t, list, 3)
	require.Equal(t, "step-12-row-2", list[1].ID)
	require.Equal(t, list[0].Group, list[1].Group)
	require.NotEqual(t, list[0].Group, list[2].Group)
	require.Equal(t, []float64{1.5, 0, 1.25}, []float64{list[0].Evaluation.Score, list[1].Evaluation.Score, list[2].Evaluation.Score})
	short, found := list[0].Evaluation.Metrics.Get("short")
	require.True(t, found)
	require.Equal(t, 0.5, short.Score)
	require.JSONEq(t, `"sums"`, string(list[0].Metadata["source"]))
	require.JSONEq(t, `0.7`, string(list[0].Metadata["advantage"]))
	require.Equal(t, []string{"1 × reward function that gave no reward: not in the sum", "2 × sum of several rewards with the weight 1: TRL does not write its reward_weights"}, notes)
}

// Promise: rollouts of NeMo Gym are read with the tokens of each call of the model, and the
// conversations of sub-agents that ng_trajectory 1.0 has are steps of the same trajectory. The
// fixture has the fields of nemo_gym/rollout_observability.py and openai_utils.py of August 2026.
func TestNemoGym(t *testing.T) {
	list, notes := all(t, "testdata/peers/nemogym.jsonl")
	require.Len(t, list, 2)
	require.Equal(t, line{"2-3", "2", []string{"system", "user", "assistant", "user", "assistant", "tool", "assistant"}, "7", 3, [][]int32{{11, 12}, {13}}, "scored", 0.5, rl.StopTerminated}, lineOf(list[0]))
	x := list[0]
	require.Equal(t, []string{"root", "root", "root", "child", "child", "root", "root"}, names(x))
	require.JSONEq(t, `"step-0000"`, string(x.Steps[1].Info["parent"]))
	require.Equal(t, &rl.Prompt{Keep: 5, Tokens: []int32{4}}, x.Steps[2].Prompt)
	require.Equal(t, "I ask a helper.", reasoning(x.Messages[2]))
	require.Equal(t, "", list[1].Outcome, "a rollout without a reward has no score")
	require.Equal(t, []string{"1 × gap that NeMo Gym reports in its evidence: model_call_reference_unmatched", "1 × item of type web_search_call: not read", "1 × rollout without a reward: it has no score"}, notes)
}

func names(x *rl.Trajectory) (list []string) {
	for _, m := range x.Messages {
		list = append(list, m.Name)
	}
	return list
}

func reasoning(m rl.Message) (text string) {
	for _, f := range m.Fields() {
		if f.Name == "reasoning_content" {
			_ = json.Unmarshal(f.Value, &text)
		}
	}
	return text
}

// Promise: a folder of trials of Harbor is read in the order of their names, each with its
// task, its reward from the verifier's own file, and how it ended. A trial without a document is counted.
func TestHarborTrials(t *testing.T) {
	folder := t.TempDir()
	put := func(path, text string) {
		at := filepath.Join(folder, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	const doc = `{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"done"}]}`
	result := func(name, rewards, exception string) string {
		return `{"task_name":"fix","trial_name":"` + name + `","task_checksum":"0123456789","verifier_result":` + rewards + `,"exception_info":` + exception + `}`
	}
	put("job/b/agent/trajectory.json", doc)
	put("job/b/result.json", result("b", `{"rewards":{"reward":0.0}}`, `null`))
	put("job/b/verifier/reward.txt", "0.5\n")
	put("job/a/agent/trajectory.json", doc)
	put("job/a/result.json", result("a", `{"rewards":{"reward":0.25}}`, `{"exception_type":"AgentTimeoutError","exception_message":"slow"}`))
	put("job/a/verifier/reward.json", `{"reward": 1, "style": 0.5}`)
	put("job/c/agent/trajectory.json", doc)
	put("job/c/result.json", result("c", `null`, `{"exception_type":"VerifierTimeoutError","exception_message":"slow"}`))
	put("job/d/result.json", result("d", `{"rewards":{"reward":1}}`, `null`))
	put("job/d/verifier/reward.txt", "1")
	list, notes := all(t, folder)
	said := []string{"assistant"}
	require.Equal(t, []line{
		{"a", "fix@01234567", said, "done", 1, nil, "scored", 1, rl.StopTruncated},
		{"b", "fix@01234567", said, "done", 1, nil, "scored", 0.5, rl.StopTerminated},
		{"c", "fix@01234567", said, "done", 1, nil, "", 0, rl.StopError},
	}, lines(list))
	require.Equal(t, []string{"1 × trial without a reward: it has no score", "1 × trial without agent/trajectory.json, because its agent does not write ATIF: omitted"}, notes)
	put("job/b/verifier/reward.txt", "nan")
	in, err := jsonl.Open(folder, nil)
	require.NoError(t, err)
	_, err = in.NextTrajectory()
	require.NoError(t, err)
	_, err = in.NextTrajectory()
	require.ErrorContains(t, err, `job/b/agent/trajectory.json: verifier/reward.txt of the trial: "nan" is not a finite number`)
}

// Promise: completions that TRL logs are the same as a text table as in Parquet; messages that are not
// JSON are an error that says so.
func TestTRLAsText(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	rows := "step,prompt,completion,exact,short,source,advantage\n" +
		`12,"[{""role"": ""user"", ""content"": ""What is 3 + 4?""}]","[{""role"": ""assistant"", ""content"": ""7""}]",1.0,0.5,sums,0.7` + "\n" +
		"12,What is 8?,eight,0.0,,sums,-0.7\n"
	for _, path := range []string{write("trl.csv", rows), write("trl.tsv", strings.ReplaceAll(strings.ReplaceAll(rows, ",", "\t"), "\t \"\"content", ", \"\"content"))} {
		list, notes := all(t, path)
		said := []string{"user", "assistant"}
		require.Len(t, list, 2)
		got := lines(list)
		require.Equal(t, line{"step-12-row-1", got[0].Group, said, "7", 1, nil, "scored", 1.5, ""}, got[0])
		require.Equal(t, line{"step-12-row-2", got[1].Group, said, "eight", 1, nil, "scored", 0, ""}, got[1])
		require.Equal(t, []string{"1 × reward function that gave no reward: not in the sum", "1 × sum of several rewards with the weight 1: TRL does not write its reward_weights"}, notes)
	}
	in, err := jsonl.Open(write("pandas.csv", strings.ReplaceAll(rows, `""`, "'")), nil)
	require.NoError(t, err)
	_, err = in.NextTrajectory()
	require.ErrorContains(t, err, `column "prompt" is text that is not JSON`)
}

// Promise: a trial of a task with several steps is one trajectory, in the order of the steps, with the
// reward of the trial; its steps say to which step of the task they belong.
func TestHarborSteps(t *testing.T) {
	folder := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(folder, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	document := func(asked, said string) string {
		return `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"` + asked + `"},
			{"step_id":2,"source":"agent","message":"` + said + `","metrics":{"prompt_token_ids":[1],"completion_token_ids":[2],"logprobs":[-1]}}]}`
	}
	put("job/x/steps/zero/agent/trajectory.json", document("First.", "one"))
	put("job/x/steps/again/agent/trajectory.json", document("Then.", "two"))
	put("job/x/result.json", `{"task_name":"two-steps","trial_name":"x","step_results":[{"name":"zero"},{"name":"again"}],"verifier_result":{"rewards":{"reward":0.5}}}`)
	put("job/y/steps/one/agent/trajectory.json", document("Alone.", "it has no result"))
	list, notes := all(t, folder)
	require.Equal(t, []string{"2 × trial with several steps: what its documents say beyond messages, tokens and times is not kept"}, notes)
	said := []string{"user", "assistant", "user", "assistant"}
	require.Equal(t, []line{
		{"x", "two-steps", said, "two", 2, [][]int32{{2}, {2}}, "scored", 0.5, rl.StopTerminated},
		{"s", "", said[:2], "it has no result", 1, [][]int32{{2}}, "", 0, ""},
	}, lines(list))
	require.JSONEq(t, `"again"`, string(list[0].Steps[1].Info["step"]))
	require.NoError(t, list[0].Check())
}
