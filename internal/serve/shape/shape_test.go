package shape_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/outcomes"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the trajectories of the recordings anew")

// recording is the output of testdata/record.py for a peer's own client.
type recording struct {
	Client string          `json:"client"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body"`
}

// recorded returns the requests that score something, by file.
func recorded(t testing.TB) map[string]recording {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	all := map[string]recording{}
	for _, path := range files {
		if strings.HasSuffix(path, ".want.json") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var r recording
		require.NoError(t, json.Unmarshal(text, &r), path)
		if r.Path != "/seed_session" {
			all[path] = r
		}
	}
	return all
}

// peerAt returns the peer that calls a path.
func peerAt(t testing.TB, path string) shape.Peer {
	for _, p := range shape.Peers {
		if "/"+p.Verb() == path {
			return p
		}
	}
	require.Fail(t, "no peer calls "+path)
	return ""
}

// Promise: requests of the peers' own clients become the original conversation, with its ground
// truth and its columns.
func TestRecordings(t *testing.T) {
	all := recorded(t)
	require.Len(t, all, 6)
	for path, r := range all {
		got, err := shape.Decode(peerAt(t, r.Path), r.Body, shape.Options{})
		require.NoError(t, err, path)
		for _, x := range got.Trajectories {
			require.NoError(t, x.Check(), path)
		}
		text, err := json.MarshalIndent(got.Trajectories, "", " ")
		require.NoError(t, err)
		golden := strings.Replace(path, ".json", ".want.json", 1)
		if *update {
			require.NoError(t, os.WriteFile(golden, append(text, '\n'), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(text), path)
	}
}

// results returns n results that are scored, except the last one unless good is n.
func results(n, good int, why reward.Outcome) []scoring.Result {
	var all []scoring.Result
	for i := range n {
		e := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: 0.5, Reason: "half", Metrics: rl.Metrics{
			{Name: "length", Score: 7, IsScoreValid: true}, {Name: "style", Reason: "not looked at"},
		}}}
		if i >= good {
			e = reward.Evaluation{Outcome: why, Reason: "it ended"}
		}
		all = append(all, scoring.NewResult(&rl.Trajectory{ID: fmt.Sprintf("query[%d]", i)}, e))
	}
	return all
}

func on(t testing.TB, text string) shape.OnUnscored {
	o, err := shape.ParseOnUnscored(text)
	require.NoError(t, err)
	return o
}

const (
	evalBody = `{"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}], "ground_truth": "4", "kwargs": {}}`
	openBody = `{"query": ["Q: A", "Q: B"], "prompts": ["Q:", "Q:"], "labels": ["x", null]}`
	oneBody  = `{"query": ["Q: A"], "prompts": ["Q:"], "labels": ["x"]}`
	nemoBody = `{"responses_create_params": {"input": "2+2?"}, "response": {"id": "r", "output": [{"type": "message", "role": "assistant",
		"content": [{"type": "output_text", "text": "4"}]}]}, "expected_answer": "4", "length": 3}`
)

// Promise: a scored trajectory is answered in the peer's format. One without a score gets what the
// operator chose, and is marked wherever the peer has a field for it.
func TestAnswers(t *testing.T) {
	const echo = `"responses_create_params":{"input":"2+2?"},"response":{"id":"r","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"4"}]}]},"expected_answer":"4","length":3`
	for _, c := range []struct {
		peer        shape.Peer
		body        string
		good        int
		on          string
		want        string
		unscoredOne int
	}{
		{shape.EvalProtocol, evalBody, 1, "error", `{"score":0.5,"is_score_valid":true,"reason":"half","metrics":{
			"length":{"score":7,"is_score_valid":true,"success":true,"reason":""},
			"style":{"score":0,"is_score_valid":false,"success":false,"reason":"not looked at"}},"step_outputs":[],"outcome":"scored"}`, 0},
		{shape.EvalProtocol, evalBody, 0, "-1", `{"score":-1,"is_score_valid":false,"reason":"it ended","metrics":{},"step_outputs":[],
			"error":"out_of_fuel: it ended","outcome":"out_of_fuel"}`, 1},
		{shape.OpenRLHF, openBody, 2, "error", `{"rewards":[0.5,0.5],"scores":[0.5,0.5],"extra_logs":{"merit_unscored":[0,0]}}`, 0},
		{shape.OpenRLHF, openBody, 1, "-1", `{"rewards":[0.5,-1],"scores":[0.5,-1],"extra_logs":{"merit_unscored":[0,1]}}`, 1},
		{shape.OpenRLHF, openBody, 1, "null", `{"rewards":[0.5,null],"scores":[0.5,null],"extra_logs":{"merit_unscored":[0,1]}}`, 1},
		{shape.OpenRLHF, oneBody, 0, "null", `{"rewards":null,"scores":null,"extra_logs":{"merit_unscored":[1]}}`, 1},
		{shape.NeMoGym, nemoBody, 1, "error", `{` + echo + `,"reward":0.5,"merit_outcome":"scored","merit_reason":"half","merit_unscored":0}`, 0},
		{shape.NeMoGym, nemoBody, 0, "-1", `{` + echo + `,"reward":-1,"merit_outcome":"out_of_fuel","merit_reason":"it ended","merit_unscored":1,
			"_ng_failure_class":"merit_out_of_fuel","_ng_failure_terminal":true,"failure_reason":"out_of_fuel","errors":["out_of_fuel: it ended"]}`, 1},
	} {
		r, err := shape.Decode(c.peer, []byte(c.body), shape.Options{})
		require.NoError(t, err)
		got, unscored, err := r.Answer(results(len(r.Trajectories), c.good, reward.OutOfFuel), on(t, c.on))
		require.NoError(t, err)
		require.Equal(t, c.unscoredOne, unscored)
		require.JSONEq(t, c.want, string(got), c.want)
	}
}

// Promise: NeMo Gym gets back every field of the row, in order and unchanged, and metrics as
// fields, which its profiles use.
func TestVerifiedRow(t *testing.T) {
	row := `{"reward": 3, "a": 1.50, "responses_create_params": {"input": "<&>"}, "response": {"output": []}, "_ng_task_index": 12345678901234567890}`
	r, err := shape.Decode(shape.NeMoGym, []byte(row), shape.Options{})
	require.NoError(t, err)
	got, _, err := r.Answer(results(1, 1, ""), shape.OnUnscored{})
	require.NoError(t, err)
	require.Equal(t, `{"reward":0.5,"a":1.50,"responses_create_params":{"input":"<&>"},"response":{"output":[]},"_ng_task_index":12345678901234567890,`+
		`"merit_outcome":"scored","merit_reason":"half","merit_unscored":0,"length":7}`, string(got))
	again, _, err := r.Answer(results(1, 1, ""), shape.OnUnscored{})
	require.NoError(t, err)
	require.Equal(t, string(got), string(again))
}

// Promise: by default, an evaluation without a score is an error that names it and its outcome,
// and that may be retried only if Merit failed.
func TestUnscoredIsAnError(t *testing.T) {
	r, err := shape.Decode(shape.OpenRLHF, []byte(openBody), shape.Options{})
	require.NoError(t, err)
	body, unscored, err := r.Answer(results(2, 1, reward.Trap), shape.OnUnscored{})
	require.Empty(t, body)
	require.Equal(t, 1, unscored)
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Unscored))
	require.EqualError(t, err, "1 of 2 evaluations have no score; query[1]: trap (it ended)")
	require.False(t, fault.Retryable(err))
	_, _, err = r.Answer(results(2, 1, reward.Infrastructure), shape.OnUnscored{})
	require.True(t, fault.Retryable(err))
}

// Promise: null is sent only to peers whose clients accept it.
func TestNull(t *testing.T) {
	for peer, body := range map[shape.Peer]string{shape.EvalProtocol: evalBody, shape.NeMoGym: nemoBody} {
		require.ErrorContains(t, on(t, "null").For(peer), "does not accept null")
		require.NoError(t, on(t, "-1").For(peer))
		r, err := shape.Decode(peer, []byte(body), shape.Options{})
		require.NoError(t, err)
		_, _, err = r.Answer(results(1, 0, reward.Timeout), on(t, "null"))
		require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Unscored))
		require.Contains(t, fault.As(err).Hint, "does not accept null")
		_, unscored, err := r.Answer(results(1, 1, ""), on(t, "null"))
		require.NoError(t, err)
		require.Zero(t, unscored)
	}
	require.NoError(t, on(t, "null").For(shape.OpenRLHF))
}

// Promise: on_unscored accepts only null, error or a finite number.
func TestParseOnUnscored(t *testing.T) {
	for text, want := range map[string]string{"": "error", "error": "error", "null": "null", "0": "0", "-1.5": "-1.5", "1e-3": "0.001"} {
		o := on(t, text)
		require.Equal(t, want, o.String())
		var again shape.OnUnscored
		marshalled, err := o.MarshalText()
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalText(marshalled))
		require.Equal(t, want, again.String())
	}
	for _, text := range []string{"NaN", "inf", "-Infinity", "zero", "0 ", "1e999", "None"} {
		_, err := shape.ParseOnUnscored(text)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid), text)
		require.NotEmpty(t, fault.As(err).Hint)
	}
}

// Promise: Python reads an integral score as a float.
func TestDecimals(t *testing.T) {
	for _, number := range []string{"1", "-0", "1e300", "100000000", "0.1"} {
		r, err := shape.Decode(shape.OpenRLHF, []byte(oneBody), shape.Options{})
		require.NoError(t, err)
		text, _, err := r.Answer(results(1, 0, reward.Trap), on(t, number))
		require.NoError(t, err)
		want := map[string]string{"1": "1.0", "-0": "-0.0", "1e300": "1e+300", "100000000": "100000000.0", "0.1": "0.1"}[number]
		require.Equal(t, `{"rewards":[`+want+`],"scores":[`+want+`],"extra_logs":{"merit_unscored":[1.0]}}`, string(text))
	}
}

// Promise: NeMo Gym learns from the fields of an evaluation without a score whether to try it again,
// for every outcome; and a rollout that has a score when it is verified again loses the marks of
// its failure.
func TestFailuresOfNeMoGym(t *testing.T) {
	for _, form := range outcomes.All() {
		if form.Outcome == reward.Scored {
			continue
		}
		r, err := shape.Decode(shape.NeMoGym, []byte(nemoBody), shape.Options{})
		require.NoError(t, err)
		got, _, err := r.Answer(results(1, 0, form.Outcome), on(t, "0"))
		require.NoError(t, err)
		require.Contains(t, string(got), `"_ng_failure_class":"`+form.NeMoGym+`"`)
		require.Equal(t, form.Cause == outcomes.Infrastructure, strings.Contains(string(got), `"_ng_failure_class":"judge_failed"`), string(got))
		require.Equal(t, form.Cause != outcomes.Infrastructure, strings.Contains(string(got), `"_ng_failure_terminal":true`), string(got))
		again, err := shape.Decode(shape.NeMoGym, got, shape.Options{})
		require.NoError(t, err)
		got, _, err = again.Answer(results(1, 1, form.Outcome), on(t, "0"))
		require.NoError(t, err)
		require.NotContains(t, string(got), "_ng_failure")
	}
}

// Promise: a verdict of a program becomes SandboxFusion's status, which its clients tell apart: an
// exit, a limit of time, a kill and a failure of the sandbox itself.
func TestRan(t *testing.T) {
	r, err := shape.Decode(shape.SandboxFusion, []byte(`{"code":"print(1)","language":"python","run_timeout":2}`), shape.Options{})
	require.NoError(t, err)
	metric := func(name, text string, score float64) rl.Metric {
		return rl.Metric{Name: name, Score: score, IsScoreValid: true, Reason: text}
	}
	ran := func(verdict string, more ...rl.Metric) scoring.Result {
		score := 0.0
		return scoring.Result{Outcome: reward.Scored, Score: &score, Metrics: append(rl.Metrics{metric("stdout", `"1\u0007\n"`, 3), metric("stderr", `"e"`, 1), metric("verdict", `"`+verdict+`"`, 1)}, more...)}
	}
	for _, c := range []struct {
		result scoring.Result
		want   string
	}{
		{ran("passed", metric("return_code", "", 0)), `{"status":"Success","run_result":{"status":"Finished","execution_time":null,"return_code":0,"stdout":"1\u0007\n","stderr":"e"}}`},
		{ran("passed", metric("return_code", "", 3)), `{"status":"Failed","run_result":{"status":"Finished","execution_time":null,"return_code":3,"stdout":"1\u0007\n","stderr":"e"}}`},
		{ran("out_of_fuel"), `{"status":"Failed","run_result":{"status":"TimeLimitExceeded","execution_time":null,"return_code":null,"stdout":"1\u0007\n","stderr":"e"}}`},
		{ran("crashed"), `{"status":"Failed","run_result":{"status":"Finished","execution_time":null,"return_code":137,"stdout":"1\u0007\n","stderr":"e"}}`},
		{scoring.Result{Outcome: reward.OutOfFuel, Reason: "used up"}, `{"status":"Failed","run_result":{"status":"TimeLimitExceeded","execution_time":null,"return_code":null,"stdout":"","stderr":"used up"}}`},
		{scoring.Result{Outcome: reward.GuestError, Reason: "why"}, `{"status":"SandboxError","message":"guest_error: why","run_result":null}`},
	} {
		text, _, err := r.Answer([]scoring.Result{c.result}, shape.OnUnscored{})
		require.NoError(t, err)
		var got, want map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		require.NoError(t, json.Unmarshal([]byte(c.want), &want))
		full := map[string]any{"message": "", "compile_result": nil, "executor_pod_name": nil, "files": map[string]any{}}
		for k, v := range want {
			full[k] = v
		}
		require.Equal(t, full, got)
	}
}
