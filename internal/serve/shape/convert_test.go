package shape_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/stretchr/testify/require"
)

// Promise: the response is the part of the query after the prompt, without the end token, even
// if the tokenizer changed spaces or the beginning of the prompt was cut off. If it cannot be
// determined (want is null), nothing is guessed. merit_rl.openrlhf uses the same table.
func TestResponseBehindPrompt(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/responses.json")
	require.NoError(t, err)
	var cases []struct {
		Query, Prompt string
		Want          *string
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		body, err := json.Marshal(map[string][]string{"query": {c.Query}, "prompts": {c.Prompt}})
		require.NoError(t, err)
		r, err := shape.Decode(shape.OpenRLHF, body, shape.Options{})
		if c.Want == nil {
			require.ErrorContains(t, err, "does not begin with", c.Query)
			continue
		}
		require.NoError(t, err, c.Query)
		require.Equal(t, *c.Want, r.Trajectories[0].Messages[1].Content.Text(), c.Query)
		require.Equal(t, c.Prompt, r.Trajectories[0].Messages[0].Content.Text())
		require.Nil(t, r.Trajectories[0].GroundTruth)
	}
}

// nemo decodes a row.
func nemo(t *testing.T, input, output, more string) *rl.Trajectory {
	r, err := shape.Decode(shape.NeMoGym, []byte(`{"responses_create_params": {`+input+`}, "response": {"output": `+output+`}`+more+`}`), shape.Options{})
	require.NoError(t, err)
	require.NoError(t, r.Trajectories[0].Check())
	return r.Trajectories[0]
}

// Promise: every kind of item keeps its text and role, and a turn of the model is one message.
func TestItems(t *testing.T) {
	const say = `{"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": "A"}, {"type": "refusal", "refusal": "no"}]}`
	for _, c := range []struct{ input, output, want string }{
		{`"input": "x", "instructions": "be brief"`, `[` + say + `]`,
			`[{"role":"system","content":"be brief"},{"role":"user","content":"x"},{"role":"assistant","content":"Ano"}]`},
		{`"input": [{"role": "developer", "content": "d"}, {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}]`, `[]`,
			`[{"role":"developer","content":"d"},{"role":"user","content":"ab"}]`},
		{`"input": [{"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:"}, {"type": "input_file", "file_id": 7}]}]`, `[]`,
			`[{"role":"user","content":[{"text":"see","type":"text"},{"image_url":{"detail":"auto","url":"data:"},"type":"image_url"},{"type":"input_file","file_id":7}]}]`},
		{`"input": [{"role": "assistant", "content": "prefilled"}]`, `[` + say + `, ` + say + `]`,
			`[{"role":"assistant","content":"prefilled"},{"role":"assistant","content":"AnoAno"}]`},
		{`"input": "x"`, `[{"type": "reasoning", "summary": [{"text": "r1"}, {"text": ""}, {"text": "r2"}]}, ` + say + `,
			{"type": "function_call", "name": "f", "call_id": "1", "arguments": "{"}, {"type": "custom_tool_call", "name": "g", "call_id": "2", "input": "text"},
			{"type": "function_call_output", "call_id": "1", "output": "o1"},
			{"type": "custom_tool_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "o2"}]}, {"type": "reasoning", "summary": null}]`,
			`[{"role":"user","content":"x"},{"role":"assistant","content":"<think>r1</think><think>r2</think>Ano","tool_calls":[
				{"id":"1","type":"function","function":{"name":"f","arguments":"{"}},{"id":"2","type":"function","function":{"name":"g","arguments":"text"}}]},
				{"role":"tool","content":"o1","tool_call_id":"1"},{"role":"tool","content":"o2","tool_call_id":"2"},{"role":"assistant","content":""}]`},
	} {
		got, err := json.Marshal(nemo(t, c.input, c.output, "").Messages)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got), c.output)
	}
}

// Promise: the ground truth of a row comes from the requested field or from one of the two
// usual ones. The other fields are columns.
func TestRowFields(t *testing.T) {
	for more, want := range map[string]string{
		``: "", `, "expected_answer": 4`: "4", `, "expected_answer": 4, "ground_truth": {"a": 1}`: `{"a":1}`, `, "ground_truth": null, "expected_answer": "x"`: `"x"`,
	} {
		require.Equal(t, want, string(nemo(t, `"input": "x"`, `[]`, more).GroundTruth), more)
	}
	row := `{"responses_create_params": {"input": "x", "model": null}, "response": {"output": []}, "solution": 5, "metadata": {"level": 1}, "messages": "m"}`
	r, err := shape.Decode(shape.NeMoGym, []byte(row), shape.Options{GroundTruth: "solution"})
	require.NoError(t, err)
	require.Equal(t, "5", string(r.Trajectories[0].GroundTruth))
	got, err := json.Marshal(r.Trajectories[0].Metadata)
	require.NoError(t, err)
	require.JSONEq(t, `{"solution": 5, "level": 1, "responses_create_params": {}, "response": {}}`, string(got))
	for name, want := range map[string]string{"messages": `"m"`, "metadata": `{"level":1}`} {
		column, ok := r.Trajectories[0].Column(name)
		require.True(t, ok, name)
		require.Equal(t, want, string(column))
	}
	_, err = shape.Decode(shape.NeMoGym, []byte(row), shape.Options{GroundTruth: "answer"})
	require.EqualError(t, err, `ground_truth: the row has no field "answer"`)
}

// Promise: eval-protocol's keyword arguments become columns, wherever its clients put them.
func TestKeywordArguments(t *testing.T) {
	const messages = `"messages": [{"role": "assistant", "content": [{"type": "text", "text": "4"}], "tool_calls": null}]`
	want := ""
	for _, more := range []string{`"level": 1, "metadata": {"id": 2}, "ground_truth": {"a": [1]}`, `"kwargs": {"level": 1, "metadata": {"id": 2}}, "ground_truth": {"a": [1]}`} {
		r, err := shape.Decode(shape.EvalProtocol, []byte("{"+messages+",\n"+more+"}"), shape.Options{})
		require.NoError(t, err)
		got, err := json.Marshal(r.Trajectories[0])
		require.NoError(t, err)
		if want == "" {
			want = string(got)
		}
		require.Equal(t, want, string(got))
	}
	require.JSONEq(t, `{"id": "request", "messages": [{"role": "assistant", "content": [{"type": "text", "text": "4"}]}],
		"ground_truth": {"a": [1]}, "metadata": {"level": 1, "id": 2}, "own_columns": {"metadata": {"id": 2}}}`, want)
	r, err := shape.Decode(shape.EvalProtocol, []byte("{"+messages+`, "ground_truth": null, "kwargs": null, "metadata": 3}`), shape.Options{})
	require.NoError(t, err)
	require.Nil(t, r.Trajectories[0].GroundTruth)
	require.Equal(t, "3", string(r.Trajectories[0].Own["metadata"]))
}

// Promise: the end of the prompt is taken from whatever a peer's request says about it. Other
// fields of a query are columns.
func TestBoundaries(t *testing.T) {
	const talk = `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"hm"},{"role":"user","content":"r"},{"role":"model","content":"b"}]`
	three := `[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"hm"},{"role":"user","content":"r"}]`
	for body, want := range map[string]int{
		`{` + talk + `}`:                                     -1,
		`{` + talk + `,"prompt_messages":1}`:                 1,
		`{` + talk + `,"kwargs":{"prompt_messages":3}}`:      3,
		`{` + talk + `,"original_messages":` + three + `}`:   3,
		`{` + talk + `,"ground_truth":` + three + `}`:        3,
		`{` + talk + `,"ground_truth":[{"role":"user"}]}`:    -1,
		`{` + talk + `,"ground_truth":[1],"prompt":"other"}`: -1,
	} {
		r, err := shape.Decode(shape.EvalProtocol, []byte(body), shape.Options{})
		require.NoError(t, err, body)
		got := r.Trajectories[0]
		require.Equal(t, "hm", strings.Trim(string(got.Messages[1].Fields()[0].Value), `"`))
		require.Equal(t, rl.RoleAssistant, got.Messages[3].Role)
		if want < 0 {
			require.Nil(t, got.PromptMessages, body)
			continue
		}
		require.NotNil(t, got.PromptMessages, body)
		require.Equal(t, want, *got.PromptMessages, body)
	}
	r, err := shape.Decode(shape.OpenRLHF, []byte(`{"query":["qa","qb"],"prompts":["q","q"],"labels":["1",null],"level":[1,2],"task":"math"}`), shape.Options{})
	require.NoError(t, err)
	level, _ := r.Trajectories[1].Column("level")
	require.Equal(t, "2 math", string(level)+" "+r.Trajectories[1].Task)
	require.Equal(t, rl.PromptAsText|rl.CompletionAsText, r.Trajectories[1].AsText)
}
