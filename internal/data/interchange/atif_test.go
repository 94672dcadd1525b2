package interchange_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/interchange"
)

// reader returns a function that opens the files of fsys.
func reader(fsys fs.FS) func(string) ([]byte, error) {
	if fsys == nil {
		return nil
	}
	return func(path string) ([]byte, error) { return fs.ReadFile(fsys, path) }
}

func read(t *testing.T, text []byte, fsys fs.FS) (*rl.Trajectory, []string) {
	t.Helper()
	notes := new(interchange.Notes)
	got, err := interchange.ReadATIF(text, reader(fsys), notes)
	require.NoError(t, err)
	require.NoError(t, got.Check())
	return got, notes.Lines()
}

// Promise: what was read from ATIF is written as the same documents, in version 1.7.
func TestATIFDocumentsStaySame(t *testing.T) {
	paths, err := filepath.Glob("testdata/atif/*.json")
	require.NoError(t, err)
	if more := os.Getenv("MERIT_ATIF"); more != "" { // trajectories of one's own
		extra, err := filepath.Glob(more)
		require.NoError(t, err)
		paths = append(paths, extra...)
	}
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		folder := os.DirFS(filepath.Dir(path))
		got, _ := read(t, text, folder)
		docs, err := interchange.WriteATIF(got)
		require.NoError(t, err, path)
		require.JSONEq(t, upgraded(t, text), string(docs[0].Text), path)
		for _, d := range docs[1:] {
			was, err := fs.ReadFile(folder, d.Path)
			require.NoError(t, err, path)
			require.JSONEq(t, upgraded(t, was), string(d.Text), d.Path)
		}
		again := fstest.MapFS{}
		for _, d := range docs[1:] {
			again[d.Path] = &fstest.MapFile{Data: d.Text}
		}
		second, _ := read(t, docs[0].Text, again)
		require.Equal(t, text0(t, got), text0(t, second), path)
	}
}

func text0(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// upgraded returns a document with version 1.7.
func upgraded(t *testing.T, text []byte) string {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(text, &doc))
	doc["schema_version"] = "ATIF-v1.7"
	return text0(t, doc)
}

// some returns a random element.
func some[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// invented returns a trajectory with much that ATIF has no field for.
func invented(r *rand.Rand) *rl.Trajectory {
	x := &rl.Trajectory{ID: fmt.Sprint("t-", r.IntN(1e6)), Group: some(r, "", "g"), Task: some(r, "", "k"), Seed: uint64(r.IntN(3)) << 60}
	var before []int32
	for range 1 + r.IntN(8) {
		m := rl.Message{Role: some(r, "system", "developer", "user", "assistant", "assistant", "assistant", "tool", "tool", "critic"), Name: some(r, "", "", "", "bob", "helper")}
		text := some(r, `""`, `"a <b> & ü"`, `null`, `[{"type":"text","text":"p"}]`, `[{"type":"input_audio","input_audio":{}}]`, `[{"type":"text","text":"p","x":1}]`)
		_ = m.Content.UnmarshalJSON([]byte(text))
		if m.Role == "assistant" && r.IntN(2) == 0 {
			for range 1 + r.IntN(2) {
				m.ToolCalls = append(m.ToolCalls, rl.ToolCall{ID: some(r, "", "c1", "c2"), Type: some(r, "function", "custom"), Function: rl.FunctionCall{Name: "f", Arguments: some(r, `{"a": 1.0}`, `{"a":1,"a":2}`, "free", "", "[]")}})
			}
		}
		if m.Role == "tool" {
			m.ToolCallID = some(r, "", "c1", "c2", "gone")
		}
		if r.IntN(3) == 0 {
			m.More = &rl.More{Fields: []rl.Field{{Name: some(r, "reasoning_content", "thinking_blocks", "weight"), Value: json.RawMessage(some(r, `"hm"`, `0.50`, `null`, `[{"type":"thinking","thinking":"so","signature":"s"},{"type":"redacted_thinking","data":"x"},7]`))}}}
		}
		if m.Role == "assistant" && r.IntN(3) > 0 {
			before = invent(r, x, len(x.Messages), before)
		}
		x.Messages = append(x.Messages, m)
	}
	if r.IntN(2) == 0 {
		x.Outcome, x.Evaluation = "scored", &rl.EvaluateResult{Score: r.NormFloat64(), IsScoreValid: true, Metrics: rl.Metrics{{Name: "m", Score: 1, IsScoreValid: true}}}
		x.Metadata = map[string]json.RawMessage{"level": json.RawMessage(`[1, 2.50, {"a": null}]`), "extra": json.RawMessage(`{}`)}
		x.GroundTruth = json.RawMessage(`9007199254740993`)
		x.StopReason = rl.StopTruncated
	}
	return x
}

// invent adds a step with message number at.
func invent(r *rand.Rand, x *rl.Trajectory, at int, before []int32) []int32 {
	s := rl.Step{Index: len(x.Steps), MessageCount: at, Action: rl.Action{Kind: some(r, rl.ActionText, rl.ActionChoice), Choice: r.IntN(3)}, EnvReward: r.Float64(), PolicyVersion: uint64(r.IntN(9)), ActionValid: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(3) {
			s.Tokens = append(s.Tokens, rl.Token{ID: r.Int32N(9), LogProb: -r.ExpFloat64()})
			s.LogProb += s.Tokens[len(s.Tokens)-1].LogProb
		}
		s.Prompt = rl.NewPrompt(before, []int32{1, 2, r.Int32N(9)})
		before = s.Prompt.Sequence(slices.Clone(before), s.Tokens)
	}
	if r.IntN(3) == 0 {
		s.Info = map[string]json.RawMessage{"agent": json.RawMessage(some(r, `"a"`, `"bob"`, `7`)), "start": json.RawMessage(some(r, `"2026-11-20T08:00:00Z"`, `"soon"`)), "parent": json.RawMessage(some(r, `"step-0000"`, `"x"`)),
			"usage": json.RawMessage(some(r, `{"prompt_tokens":7,"completion_tokens":2}`, `{"cached_tokens":3,"prompt_tokens":-1}`, `[1]`, `{"prompt_tokens":1e3,"more":1}`))}
	}
	x.Steps = append(x.Steps, s)
	return before
}

// Promise: any trajectory of Merit is the same after it has been a document of ATIF, and the
// document is valid by a second implementation of Harbor's rules.
func TestMeritThroughATIF(t *testing.T) {
	folder := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		x := invented(r)
		if x.Check() != nil {
			continue
		}
		docs, err := interchange.WriteATIF(x)
		require.NoError(t, err, text0(t, x))
		got, err := interchange.ReadATIF(docs[0].Text, nil, nil)
		require.NoError(t, err, string(docs[0].Text))
		require.Equal(t, text0(t, x), text0(t, got), "%d: %s", i, docs[0].Text)
		again, err := interchange.WriteATIF(got)
		require.NoError(t, err)
		require.JSONEq(t, string(docs[0].Text), string(again[0].Text))
		if i < 400 {
			require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.json", i)), docs[0].Text, 0o600))
		}
	}
	valid(t, folder)
}

// valid runs testdata/atif17.py over the documents of a folder.
func valid(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.Command(testneeds.Python(t), "testdata/atif17.py", folder).CombinedOutput()
	require.NoError(t, err, string(out))
}

// Promise: a document that is nearly one is refused with all that is wrong, and its place.
func TestATIFRefused(t *testing.T) {
	const agent = `"agent":{"name":"a","version":"1"}`
	doc := func(steps string) string {
		return `{"schema_version":"ATIF-v1.7",` + agent + `,"steps":[` + steps + `]}`
	}
	for text, want := range map[string]string{
		`{"schema_version":"ATIF-v2.0",` + agent + `,"steps":[{"step_id":1,"source":"user","message":"q"}]}`: `schema_version is "ATIF-v2.0"`,
		`{"schema_version":"ATIF-v1.7","agent":{"name":"a"},"steps":[]}`:                                     "agent needs a name and a version; steps is empty",
		doc(`{"step_id":1,"source":"robot","message":7}`):                                                    `steps[0] has the source "robot"; it must be system, user or agent; steps[0].message must be a text`,
		doc(`{"step_id":1,"source":"user","message":"q","reasoning_content":"r"}`):                           "steps[0] has fields that only steps of the agent may have",
		doc(`{"step_id":1,"source":"agent","message":"","tool_calls":[{"tool_call_id":"c","function_name":"f","arguments":{}},{"tool_call_id":"c","function_name":"f","arguments":"{}"}]}`):                  `steps[0].tool_calls[1] has the tool_call_id "c" of another call`,
		doc(`{"step_id":1,"source":"agent","message":"","observation":{"results":[{"source_call_id":"c"}]}}`):                                                                                                `steps[0].observation.results[0] has the source_call_id "c"`,
		doc(`{"step_id":1,"source":"agent","message":[{"type":"audio"}]}`):                                                                                                                                   `steps[0].message[0] must be`,
		doc(`{"step_id":1,"source":"agent","message":"","timestamp":"yesterday"}`):                                                                                                                           `steps[0] has the timestamp "yesterday"`,
		doc(`{"step_id":1,"source":"agent","message":"","metrics":{"completion_token_ids":[1.5],"logprobs":[0.5]}}`):                                                                                         `completion_token_ids [0] must be a token id, a whole number from 0 to 2147483647, not 1.5; steps[0].metrics.logprobs [0] must be a log-probability, at most 0, not 0.5`,
		doc(`{"step_id":1,"source":"agent","message":"","metrics":{"completion_token_ids":[1,null],"logprobs":[0]}}`):                                                                                        `[1] must be a token id`,
		doc(`{"step_id":1,"source":"agent","message":"","metrics":{"logprobs":[NaN]}}`):                                                                                                                      "a number may be NaN, which JSON does not have",
		doc(`{"step_id":1,"source":"agent","message":"","message":"b"}`):                                                                                                                                     "message is given twice",
		`{"schema_version":"ATIF-v1.7",` + agent + `,"steps":[{"step_id":1,"source":"user","message":"q"}],"subagent_trajectories":[` + doc(`{"step_id":2,"source":"user","message":"q"}`) + `]}`:            `subagent_trajectories[0]. needs a trajectory_id that no other sub-agent has, not ""; subagent_trajectories[0].steps[0] has step_id 2 instead of 1`,
		`{"schema_version":"ATIF-v1.7",` + agent + `,"steps":[{"step_id":1,"source":"user","message":"q"}],"extra":{"merit":{"messages":1,"change":{"set":{"messages":{"at":{"7":{"is":1}},"length":9}}}}}}`: "extra.merit",
	} {
		_, err := interchange.ReadATIF([]byte(text), nil, nil)
		require.ErrorContains(t, err, want, text)
		require.NotEmpty(t, fault.As(err).Hint)
	}
}

// Promise: files that refer to each other in a circle end with an error; those that are
// missing, elsewhere or outside of the folder stay references, and are counted.
func TestATIFReferences(t *testing.T) {
	doc := func(more string) []byte {
		return []byte(`{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"m"` + more + `}`)
	}
	ref := func(path string) string {
		return `,"observation":{"results":[{"content":"","subagent_trajectory_ref":[{"trajectory_path":"` + path + `"}]}]}}]`
	}
	files := fstest.MapFS{
		"b.json": {Data: doc(ref("sub/c.json"))}, "sub/c.json": {Data: doc(ref("../b.json"))},
		"d.json": {Data: doc(`}],"continued_trajectory_ref":"d.json"`)}, "leaf.json": {Data: doc(`}]`)},
	}
	_, err := interchange.ReadATIF(files["b.json"].Data, reader(files), nil)
	require.ErrorContains(t, err, "refers to itself, directly or by another file")
	_, err = interchange.ReadATIF(files["d.json"].Data, reader(files), nil)
	require.ErrorContains(t, err, "d.json refers to itself")
	for _, path := range []string{"gone.json", "../outside.json", "/etc/passwd", "s3://bucket/x.json"} {
		got, notes := read(t, doc(ref(path)), files)
		require.Equal(t, []string{"1 × reference to a sub-agent whose document is not here: kept as a reference"}, notes)
		docs, err := interchange.WriteATIF(got)
		require.NoError(t, err)
		require.JSONEq(t, string(doc(ref(path))), string(docs[0].Text))
	}
	got, notes := read(t, doc(ref("leaf.json")), files)
	require.Empty(t, notes)
	require.Len(t, got.Steps, 2)
	require.JSONEq(t, `"step-0000"`, string(got.Steps[1].Info["parent"]))
	docs, err := interchange.WriteATIF(got)
	require.NoError(t, err)
	require.Contains(t, string(docs[0].Text), `"trajectory_path":"leaf.json"`)
	require.Contains(t, string(docs[0].Text), `"subagent_trajectories":[`)
}

// Promise: a member that ATIF does not have is counted, and written again where it was.
func TestATIFUnknownMembers(t *testing.T) {
	text := []byte(`{"schema_version":"ATIF-v1.9","session_id":"s","agent":{"name":"a","version":"1","mood":"good"},"steps":[{"step_id":1,"source":"agent","message":"m","metrics":{"joules":1}},{"step_id":2,"source":"agent","message":"n","metrics":{"joules":2}}]}`)
	got, notes := read(t, text, nil)
	require.Equal(t, []string{
		`1 × agent with the member "mood", which ATIF does not have: kept for --to atif`,
		`1 × document of ATIF-v1.9, which is newer than the version that Merit knows, ATIF-v1.7`,
		`2 × metrics with the member "joules", which ATIF does not have: kept for --to atif`,
	}, notes)
	docs, err := interchange.WriteATIF(got)
	require.NoError(t, err)
	require.JSONEq(t, upgraded(t, text), string(docs[0].Text))
}

// FuzzATIF: no document ends the process, and one that is read is written as the same again.
func FuzzATIF(f *testing.F) {
	paths, _ := filepath.Glob("testdata/atif/*.json")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := interchange.ReadATIF(text, nil, nil)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		docs, err := interchange.WriteATIF(got)
		require.NoError(t, err)
		again, err := interchange.ReadATIF(docs[0].Text, nil, nil)
		require.NoError(t, err)
		require.Equal(t, text0(t, got), text0(t, again))
	})
}
