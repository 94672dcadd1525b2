package row_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/row"
)

func decoded(t *testing.T, text string) *rl.Trajectory {
	t.Helper()
	got, err := row.Decode([]byte(text), 3)
	require.NoError(t, err, text)
	return got
}

func said(t *rl.Trajectory) (all []string) {
	for _, m := range t.Messages {
		all = append(all, m.Role+": "+m.Content.Text())
	}
	return all
}

// Promise: a prompt and a completion, each a text, a message or a list of
// messages, need no map; where the prompt ends and what was a text is kept.
func TestPromptAndCompletion(t *testing.T) {
	const search = `[{"role":"assistant","content":"<search>"},{"role":"user","content":"Lima"},{"role":"assistant","content":"<answer>"}]`
	cases := map[string]struct {
		text   string
		said   []string
		prompt int
		asText rl.AsText
	}{
		"texts":          {`{"prompt":"q","completion":"a","id":"x"}`, []string{"user: q", "assistant: a"}, 1, rl.PromptAsText | rl.CompletionAsText},
		"messages":       {`{"prompt":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"}]}`, []string{"system: s", "user: q", "assistant: a"}, 2, 0},
		"one message":    {`{"prompt":{"role":"user","content":"q"},"completion":"a"}`, []string{"user: q", "assistant: a"}, 1, rl.CompletionAsText},
		"several turns":  {`{"prompt":"Capital?","completion":` + search + `}`, []string{"user: Capital?", "assistant: <search>", "user: Lima", "assistant: <answer>"}, 1, rl.PromptAsText},
		"a prefill":      {`{"prompt":[{"role":"user","content":"q"},{"role":"assistant","content":"<think>"}],"completion":[{"role":"assistant","content":"a"}]}`, []string{"user: q", "assistant: <think>", "assistant: a"}, 2, 0},
		"no prompt":      {`{"completion":"a"}`, []string{"assistant: a"}, 0, rl.CompletionAsText},
		"null messages":  {`{"messages":null,"prompt":"q","completion":"a"}`, []string{"user: q", "assistant: a"}, 1, rl.PromptAsText | rl.CompletionAsText},
		"from and value": {`{"prompt":[{"from":"human","value":"q"}],"completion":[{"from":"gpt","value":"a"}]}`, []string{"user: q", "assistant: a"}, 1, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := decoded(t, c.text)
			require.Equal(t, c.said, said(got))
			require.NotNil(t, got.PromptMessages)
			require.Equal(t, c.prompt, *got.PromptMessages)
			require.Equal(t, c.asText, got.AsText)
			require.Empty(t, got.Metadata)
			line, err := json.Marshal(got)
			require.NoError(t, err)
			again := decoded(t, string(line))
			again.Unnamed = got.Unnamed
			require.Equal(t, got, again, "written and read again")
		})
	}
	both := decoded(t, `{"messages":[{"role":"assistant","content":"m"}],"prompt":"q","completion":"a"}`)
	require.Equal(t, []string{"assistant: m"}, said(both), "messages win")
	require.Nil(t, both.PromptMessages)
	require.Equal(t, map[string]json.RawMessage{"prompt": json.RawMessage(`"q"`), "completion": json.RawMessage(`"a"`)}, both.Metadata)
	_, err := row.Decode([]byte(`{"prompt":"q","completion":7}`), 1)
	require.ErrorContains(t, err, "the completion is neither text nor a list of messages")
}

// Promise: no field of a message is lost, and what people write in other forms
// is read into one, with what came still there.
func TestMessages(t *testing.T) {
	cases := map[string]struct{ in, role, text, calls, seen string }{
		"fields":       {`{"role":"assistant","content":"a","reasoning_content":"one two three","weight":0.5,"refusal":null}`, "assistant", "a", `null`, `reasoning_content="one two three" weight=0.5 refusal=null `},
		"model":        {`{"role":"model","content":"a"}`, "assistant", "a", `null`, `as_given={"role":"model"} `},
		"Assistant":    {`{"role":"Assistant","content":"a"}`, "assistant", "a", `null`, `as_given={"role":"Assistant"} `},
		"ipython":      {`{"role":"ipython","content":"4"}`, "tool", "4", `null`, `as_given={"role":"ipython"} `},
		"developer":    {`{"role":"developer","content":"s"}`, "developer", "s", `null`, ``},
		"parts":        {`{"role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"output_text","text":"a"},{"type":"input_text","text":"b"}]}`, "assistant", "ab", `null`, ``},
		"Gemini":       {`{"role":"model","parts":[{"text":"a"},{"text":"b"}]}`, "assistant", "ab", `null`, `as_given={"role":"model","parts":[{"text":"a"},{"text":"b"}]} `},
		"OpenAI calls": {`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]}`, "assistant", "", `[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]`, ``},
		"flat calls":   {`{"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{"x":1}}]}`, "assistant", "", `[{"id":"","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]`, `as_given={"tool_calls":[{"name":"f","arguments":{"x":1}}]} `},
		"objects":      {`{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"x":[1,"é"]}}}]}`, "assistant", "", `[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":[1,\"é\"]}"}}]`, `as_given={"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"x":[1,"é"]}}}]} `},
		"custom calls": {`{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"custom","custom":{"name":"f","input":"free"}}]}`, "assistant", "", `[{"id":"1","type":"custom","function":{"name":"f","arguments":"free"}}]`, `as_given={"tool_calls":[{"id":"1","type":"custom","custom":{"name":"f","input":"free"}}]} `},
		"more calls":   {`{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, "assistant", "", `[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]`, `as_given={"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]} `},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := decoded(t, `{"messages":[`+c.in+`]}`).Messages[0]
			require.Equal(t, c.role, got.Role)
			require.Equal(t, c.text, got.Content.Text())
			calls, err := json.Marshal(got.ToolCalls)
			require.NoError(t, err)
			require.JSONEq(t, c.calls, string(calls))
			seen := ""
			for _, f := range got.Seen() {
				seen += f.Name + "=" + string(f.Value) + " "
			}
			require.Equal(t, c.seen, seen)
			out, err := json.Marshal(got)
			require.NoError(t, err)
			if name != "Gemini" {
				require.JSONEq(t, c.in, string(out), "it is written unchanged")
			}
			require.Equal(t, got, decoded(t, `{"messages":[`+string(out)+`]}`).Messages[0])
		})
	}
}

// Promise: what is not understood is said, never read as nothing; a name counts
// as it is spelled, and once.
func TestNotUnderstood(t *testing.T) {
	const answer = `"messages":[{"role":"assistant","content":"a"}]`
	for text, want := range map[string]string{
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","contnt":"a"}]}`:    `messages[1] has a field "contnt"; did you mean "content"?`,
		`{"messages":[{"role":"assistant","Content":"a"}]}`:                                 `messages[0] has a field "Content"; did you mean "content"?`,
		`{"messages":[{"role":"assistant","content":"a","tool_call":[]}]}`:                  `did you mean "tool_calls"?`,
		`{"messages":[{"role":"asistant","content":"a"}]}`:                                  `messages[0].role is "asistant"; did you mean "assistant"?`,
		`{"messages":[{"role":"assistant","text":"a"}]}`:                                    `messages[0] has no content`,
		`{"messages":[{"role":"assistant","content":[{"type":"markdown","text":"a"}]}]}`:    `messages[0].content[0] is of type "markdown"`,
		`{"messages":[{"role":"assistant","content":[{"type":"text","content":"a"}]}]}`:     `messages[0].content[0] has no text`,
		`{"messages":[{"role":"assistant","content":"a","tool_calls":[{"arguments":{}}]}]}`: `messages[0].tool_calls[0] has no function name`,
		`{"messages":[{"role":"assistant","content":"a","tool_calls":{"name":"f"}}]}`:       `messages[0].tool_calls must not be an object`,
		`{"Messages":[{"role":"assistant","content":"a"}]}`:                                 "the column messages is missing; did you mean Messages?",
		`{"mesages":[{"role":"assistant","content":"a"}]}`:                                  "the column messages is missing; did you mean mesages?",
		`{` + answer + `,"Messages":[]}`:                                                    "the column Messages is not read; did you mean messages?",
		`{` + answer + `,"meſſages":[]}`:                                                    "did you mean messages?",
		`{` + answer + `,"ground_truth":"4","GROUND_TRUTH":"5"}`:                            "did you mean ground_truth?",
		`{` + answer + `,"ground_truht":"4"}`:                                               "did you mean ground_truth?",
		`{` + answer + `,"ground_truth":"4","ground_truth":"5"}`:                            "ground_truth is given twice",
		`{` + answer + `,"level":1,"level":1}`:                                              "level is given twice",
		`{` + answer + `,"extra":{"a":1,"a":2}}`:                                            "extra.a is given twice",
		`{"messages":[{"role":"user","role":"assistant","content":"a"}]}`:                   "messages[0].role is given twice",
		`{` + answer + `,"prompt_messages":7}`:                                              "prompt_messages is 7, more than the number of messages, 1",
		`{"prompt":"q","completion":"a","completion":"b"}`:                                  "completion is given twice",
	} {
		_, err := row.Decode([]byte(text), 1)
		require.ErrorContains(t, err, want, text)
	}
	decoded(t, `{"messages":[{"role":"critic","content":"a","context":"c","rule":1}],"ground_truth":"4","ground_truth_2":"5"}`)
}

// Promise: a row that breaks off after a field of another type is an error, not a panic.
func TestBrokenOff(t *testing.T) {
	for _, text := range []string{`{"task":{}`, `{"task":{},`, `{"seed":"x","messages":[`, `{"metadata":[1]`} {
		_, err := row.Decode([]byte(text), 1)
		require.ErrorContains(t, err, "not a trajectory", text)
	}
}

// Promise: a request whose columns stand apart is the row that has them, whatever
// they are called; what stands outside are the client's own names.
func TestColumnsApart(t *testing.T) {
	got, err := row.DecodeRequest([]byte(`{"prompt":"q","completion":"a","id":"completion-3","group":"7","columns":
		{"id":5,"group":"g","task":"math","metadata":{"k":1},"messages":[1],"prompt":"p","answer":"4","ground_truth":"4","extra_info":null}}`), 1)
	require.NoError(t, err)
	require.Equal(t, []string{"completion-3", "7", "math", `"4"`}, []string{got.ID, got.Group, got.Task, string(got.GroundTruth)})
	for name, want := range map[string]string{
		"id": "5", "group": `"g"`, "task": `"math"`, "metadata": `{"k":1}`, "messages": "[1]", "prompt": `"p"`, "answer": `"4"`, "extra_info": "null",
	} {
		column, ok := got.Column(name)
		require.True(t, ok, name)
		require.JSONEq(t, want, string(column), name)
	}
	require.Equal(t, `1`, string(got.Metadata["k"]))
	bare, err := row.DecodeRequest([]byte(`{"completion":"a","id":"completion-3","group":"7","columns":{}}`), 1)
	require.NoError(t, err)
	_, there := bare.Column("id")
	require.False(t, there, "a name that the client made up is not a column")
	own, err := row.DecodeRequest([]byte(`{"completion":"a","ground_truth":"5","columns":{"ground_truth":"4"}}`), 1)
	require.NoError(t, err)
	require.Equal(t, `"5"`, string(own.GroundTruth))
	_, err = row.DecodeRequest([]byte(`{"completion":"a","anser":1,"columns":{}}`), 1)
	require.ErrorContains(t, err, `"anser" is not allowed next to columns`)
	table, err := row.DecodeRequest([]byte(`{"completion":"a","columns":["x"]}`), 1)
	require.NoError(t, err)
	require.Equal(t, `["x"]`, string(table.Metadata["columns"]), "a list is a column like any other")
}

// Promise: an object called metadata is one column, as trainers have it, and no
// entry of it hides a column of the row; what Merit wrote is read as it was.
func TestMetadataIsAColumn(t *testing.T) {
	const answer = `"prompt":"q","completion":"a"`
	for text, own := range map[string]string{
		`{` + answer + `,"task":"nq","level":1,"metadata":{"task":"inner","level":2,"lang":"fr"}}`: `{"level":1,"metadata":{"task":"inner","level":2,"lang":"fr"},"task":"nq"}`,
		`{` + answer + `,"metadata":{"lang":"fr"}}`:                                                `{"metadata":{"lang":"fr"}}`,
		`{` + answer + `,"lang":"fr"}`:                                                             `{}`,
		`{` + answer + `,"metadata":{"lang":"fr"},"own_columns":{}}`:                               `{}`,
		`{` + answer + `,"metadata":{"lang":"fr"},"own_columns":{"id":7}}`:                         `{"id":7}`,
		`{` + answer + `}`: `null`,
	} {
		got := decoded(t, text)
		found, err := json.Marshal(got.Own)
		require.NoError(t, err)
		require.JSONEq(t, own, string(found), text)
		line, err := json.Marshal(got)
		require.NoError(t, err)
		again := decoded(t, string(line))
		again.Unnamed = got.Unnamed
		require.Equal(t, got, again, "written and read again")
	}
	sent, err := row.DecodeRequest([]byte(`{`+answer+`,"columns":{"task":"nq","id":3,"metadata":{"task":"inner"}}}`), 1)
	require.NoError(t, err)
	for name, want := range map[string]string{"task": `"nq"`, "metadata": `{"task":"inner"}`, "id": "3"} {
		column, ok := sent.Column(name)
		require.True(t, ok, name)
		require.Equal(t, want, string(column))
	}
}
