package rl_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/merit-rl/merit/core/rl"
	"github.com/stretchr/testify/require"
)

// Promise: OpenAI's chat messages load, and come back as they were: strings,
// null with tool calls, tool results, and lists of parts with parts that Merit
// does not read. Source: the Chat Completions API reference.
func TestMessagesOfOpenAI(t *testing.T) {
	cases := []struct{ name, json, text string }{
		{"string", `{"role":"user","content":"2 < 3 & 4 > 1 — ✓"}`, "2 < 3 & 4 > 1 — ✓"},
		{"named", `{"role":"user","content":"hi","name":"ann"}`, "hi"},
		{"tool calls", `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`, ""},
		{"tool result", `{"role":"tool","content":"42","tool_call_id":"call_1"}`, "42"},
		{"parts", `{"role":"user","content":[{"type":"text","text":"What is "},{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}},{"type":"text","text":"this?"}]}`, "What is this?"},
		{"no parts", `{"role":"user","content":[]}`, ""},
		{"another role", `{"role":"developer","content":"be brief"}`, "be brief"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var m rl.Message
			require.NoError(t, json.Unmarshal([]byte(c.json), &m))
			require.Equal(t, c.text, m.Content.Text())
			out, err := json.Marshal(m)
			require.NoError(t, err)
			require.JSONEq(t, c.json, string(out))
		})
	}
	var m rl.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"assistant","content":null,"refusal":null,"annotations":[]}`), &m))
	require.True(t, m.Content.IsNull())
	require.Nil(t, m.Content.Parts())
	for _, bad := range []string{`{"content":7}`, `{"content":{"text":"x"}}`, `{"content":["x"]}`, `{"content":true}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &m), bad)
	}
}

// Promise: the EvaluateResult, StepOutput and MetricResult JSON of
// eval-protocol (reward-kit) loads unchanged. The first case is what
// EvaluateResult.model_dump_json() of eval_protocol/models.py writes, with
// every field that the model has.
func TestEvaluateResultOfEvalProtocol(t *testing.T) {
	data := `{"score":0.75,"is_score_valid":true,"reason":"good","metrics":{
		"zeta":{"is_score_valid":true,"score":0.5,"reason":"half","data":{"n":3}},
		"alpha":{"is_score_valid":false,"score":0.0,"reason":"no parse","data":{}}},
		"step_outputs":[
		{"step_index":0,"base_reward":0.25,"terminated":false,"control_plane_info":null,"metrics":{"speed":3,"ok":true,"note":"n/a","list":[1],"nil":null},"reason":null},
		{"step_index":"1","base_reward":-1.0,"terminated":true,"control_plane_info":{"reward":{}},"metrics":{},"reason":"end"}],
		"error":null,"trajectory_info":null,"final_control_plane_info":null,"agg_score":null,"standard_error":null}`
	var r rl.EvaluateResult
	require.NoError(t, json.Unmarshal([]byte(data), &r))
	require.Equal(t, rl.EvaluateResult{
		Score: 0.75, IsScoreValid: true, Reason: "good",
		Metrics: rl.Metrics{{Name: "zeta", Score: 0.5, IsScoreValid: true, Reason: "half"}, {Name: "alpha", Reason: "no parse"}},
		StepOutputs: []rl.StepOutput{
			{StepIndex: 0, BaseReward: 0.25, Metrics: rl.Metrics{
				{Name: "speed", Score: 3, IsScoreValid: true}, {Name: "ok", Score: 1, IsScoreValid: true}, {Name: "note", Reason: "n/a"},
				{Name: "list", Reason: "[1]"}, {Name: "nil", Reason: "null"},
			}},
			{StepIndex: 1, BaseReward: -1, Reason: "end"},
		},
	}, r)
	out, err := json.Marshal(r)
	require.NoError(t, err)
	var again rl.EvaluateResult
	require.NoError(t, json.Unmarshal(out, &again))
	require.Equal(t, r.Metrics, again.Metrics, "the author's order")
	var written struct {
		Metrics map[string]map[string]any `json:"metrics"`
	}
	require.NoError(t, json.Unmarshal(out, &written))
	require.Contains(t, written.Metrics["zeta"], "reason", "eval-protocol requires it")

	require.NoError(t, json.Unmarshal([]byte(`{"score":1}`), &r))
	require.True(t, r.IsScoreValid, "the default")
	require.NoError(t, json.Unmarshal([]byte(`{"score":0,"metrics":null,"step_outputs":null}`), &r))
	require.Nil(t, r.Metrics)
}

// Promise: a number that is missing is an error or not valid, never 0.
func TestAMissingNumberIsNotZero(t *testing.T) {
	var r rl.EvaluateResult
	for _, bad := range []string{
		`{}`, `{"score":null}`, `{"score":"high"}`, `{"score":1e999}`, `{"is_score_valid":true}`,
		`{"score":1,"step_outputs":[{"step_index":0}]}`, `{"score":1,"step_outputs":[{"base_reward":1}]}`,
		`{"score":1,"step_outputs":[{"step_index":1.5,"base_reward":1}]}`, `{"score":1,"step_outputs":[{"step_index":"last","base_reward":1}]}`,
		`{"score":1,"metrics":[]}`, `{"score":1,"metrics":{"m":{"score":"x"}}}`,
	} {
		require.Error(t, json.Unmarshal([]byte(bad), &r), bad)
	}
	require.NoError(t, json.Unmarshal([]byte(`{"is_score_valid":false,"error":"no answer"}`), &r))
	require.False(t, r.IsScoreValid)
	require.NoError(t, json.Unmarshal([]byte(`{"score":1,"metrics":{"m":{"reason":"?"}}}`), &r))
	m, ok := r.Metrics.Get("m")
	require.True(t, ok)
	require.False(t, m.IsScoreValid)
	_, ok = r.Metrics.Get("n")
	require.False(t, ok)
}

// Promise: a trajectory keeps all that files are to keep.
func TestTrajectoryRoundTrip(t *testing.T) {
	value, half := 0.5, 0.25
	tr := rl.Trajectory{
		ID: "g0-m0", Group: "g0", Task: "t", Seed: 1<<64 - 1,
		Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text("<board>")},
			{Role: rl.RoleAssistant, Content: rl.Text("up"), ToolCalls: []rl.ToolCall{{ID: "a", Type: "function", Function: rl.FunctionCall{Name: "f", Arguments: "{"}}}},
		},
		GroundTruth: json.RawMessage(`{"a":[1,2]}`),
		Metadata:    map[string]json.RawMessage{"k": json.RawMessage(`"v"`)},
		Steps: []rl.Step{{
			MessageCount: 1, Anchor: "s", Available: []string{"up", "down"}, Action: rl.Action{Kind: rl.ActionChoice, Choice: 1, Text: "down"},
			RawOutput: "I go down", LogProb: -0.7, Entropy: 0.69, Value: &value, Tokens: []rl.Token{{ID: 5, LogProb: -0.1}}, PolicyVersion: 3,
			EnvReward: 1, Truncated: true, ActionValid: true, Info: map[string]json.RawMessage{"n": json.RawMessage("3")},
			Credit: &rl.Credit{BaseReward: 1, Return: 2, EpisodeAdvantage: 3, StepAdvantage: 4, Advantage: 7, AnchorGroup: 9},
		}},
		StopReason: rl.StopTruncated, Bootstrap: &half, Outcome: "scored", Evaluation: &rl.EvaluateResult{Score: 1, IsScoreValid: true},
	}
	out, err := json.Marshal(tr)
	require.NoError(t, err)
	var again rl.Trajectory
	require.NoError(t, json.Unmarshal(out, &again))
	require.Equal(t, tr, again)
	require.NoError(t, again.Check())
}

// Promise: a step's observation is a prefix that shares the conversation's
// memory and cannot grow into it.
func TestObservationIsASharedPrefix(t *testing.T) {
	tr := rl.Trajectory{
		Messages: []rl.Message{{Role: "system"}, {Role: "user"}, {Role: "assistant"}, {Role: "user"}, {Role: "assistant"}},
		Steps:    []rl.Step{{MessageCount: 2}, {Index: 1, MessageCount: 4}},
	}
	seen := tr.Observation(0)
	require.Len(t, seen, 2)
	require.Same(t, &tr.Messages[0], &seen[0])
	_ = append(seen, rl.Message{Role: "intruder"})
	require.Equal(t, rl.RoleAssistant, tr.Messages[2].Role)
	require.Equal(t, []int32{-1, -1, 0, -1, 1}, tr.AssistantIndex(nil))
	require.True(t, (&rl.Group{Trajectories: []*rl.Trajectory{&tr}}).Complete())
	tr.StopReason = rl.StopError
	require.False(t, (&rl.Group{Trajectories: []*rl.Trajectory{&tr}}).Complete())
}

// Promise: a seed is a function of its path, and its children do not collide
// or correlate.
func TestSeedTree(t *testing.T) {
	require.Equal(t, rl.Seed(1).Child(2).Child(3), rl.Seed(1).Path(2, 3))
	seen := map[rl.Seed]bool{}
	sum, n := 0.0, 0
	for a := range uint64(50) {
		for b := range uint64(50) {
			for _, s := range []rl.Seed{rl.Seed(a).Child(b), rl.Seed(0).Path(a, b, 0)} {
				require.False(t, seen[s], "%d %d", a, b)
				seen[s] = true
				u := s.Uniform()
				require.True(t, u >= 0 && u < 1)
				sum, n = sum+u, n+1
			}
		}
	}
	require.InDelta(t, 0.5, sum/float64(n), 0.02)
	require.Equal(t, "2053254b52d8d9b3", fmt.Sprintf("%016x", uint64(rl.Seed(42).Path(1, 2, 3))), "runs of older versions stay what they were")
}

// BenchmarkHistory shows that a step of a long episode costs what one of a
// short episode does: the conversation is kept once, and an observation is a
// prefix of it.
func BenchmarkHistory(b *testing.B) {
	for _, steps := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t := rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("start")}}}
				for i := range steps {
					t.Steps = append(t.Steps, rl.Step{Index: i, MessageCount: len(t.Messages)})
					if seen := t.Observation(i); len(seen) != 2*i+1 {
						b.Fatal(len(seen))
					}
					t.Messages = append(t.Messages,
						rl.Message{Role: rl.RoleAssistant, Content: rl.Text("up")}, rl.Message{Role: rl.RoleUser, Content: rl.Text("board")})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
		})
	}
}

// FuzzContent: a content is decoded as encoding/json decodes a string, escapes,
// bad UTF-8 and all.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{`""`, `"a"`, `"\n\t\"\\\/\b\f\r"`, `"é\u00e9\ud83d\ude00\ud800"`, "\"\xff\"", `"\"`, `"a\x"`, `" "`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want string
		if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &want) != nil {
			return
		}
		var got rl.Content
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, want, got.Text())
	})
}
