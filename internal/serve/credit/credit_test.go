package credit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/rowio"
	"github.com/merit-rl/merit/internal/serve/credit"
	"github.com/stretchr/testify/require"
)

// rows are two groups of two trajectories of two steps. One trajectory has no score.
func rows() []string {
	var out []string
	for i := range 8 {
		score, reward := fmt.Sprint(i/2%3), fmt.Sprint(float64(i)/4)
		if i/2 == 3 {
			score, reward = "null", "null"
		}
		out = append(out, fmt.Sprintf(`{"group":"g%d","trajectory":%d,"step":%d,"observation":"room %d","reward":%s,"episode_score":%s}`, i/4, i/2, i%2, i%2, reward, score))
	}
	return out
}

// file returns the result for a file of the rows.
func file(t testing.TB, cfg advantage.Config) []string {
	var out bytes.Buffer
	_, err := rowio.Estimate(cfg, "rows", strings.NewReader(strings.Join(rows(), "\n")), &out)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// Promise: rows give the same bytes as a file of them, and columns the same numbers.
func TestRowsAndColumns(t *testing.T) {
	cfg := advantage.Default()
	cfg.Normalization = advantage.MeanStdNorm
	want := file(t, cfg)
	const config = `"config":{"estimator":"gigpo","normalization":"mean_std_norm"}`
	got, err := credit.Answer([]byte("{"+config+",\n\"rows\":[\n"+strings.Join(rows(), " ,\n")+"]}"), 8)
	require.NoError(t, err)
	require.Equal(t, `{"rows":[`+strings.Join(want, ",")+`],"stats":{"rows":8,`, string(got)[:len(`{"rows":[`+strings.Join(want, ",")+`],"stats":{"rows":8,`)])

	columns := map[string][]json.RawMessage{}
	for _, r := range rows() {
		var row map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(r), &row))
		for name, v := range row {
			columns[name] = append(columns[name], v)
		}
	}
	text, err := json.MarshalIndent(columns, "", " ")
	require.NoError(t, err)
	got, err = credit.Answer(fmt.Appendf(nil, `{%s,"columns":%s}`, config, text), 8)
	require.NoError(t, err)
	var answer struct {
		Columns map[string][]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(got, &answer))
	require.Len(t, answer.Columns, 5)
	for i, line := range want {
		var row map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		for name, values := range answer.Columns {
			require.Equal(t, string(row[name]), string(values[i]), "%s of row %d", name, i)
		}
	}
	delete(columns, "observation")
	columns["anchor"] = columns["group"]
	text, err = json.Marshal(columns)
	require.NoError(t, err)
	_, err = credit.Answer(fmt.Appendf(nil, `{"columns":%s}`, text), 8)
	require.NoError(t, err, "an anchor is enough")
}

// Promise: groups of conversations with their evaluations get the same credit as their rows,
// and none without a score.
func TestGroups(t *testing.T) {
	const body = `{"config":{"estimator":"gigpo","gamma":0.5},"groups":[[
		{"id":"a","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"l"},{"role":"user","content":"wall"},{"role":"assistant","content":"r"}],
		 "evaluation":{"score":1,"step_outputs":[{"step_index":0,"base_reward":0},{"step_index":1,"base_reward":1}]}},
		{"id":"b","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"r"}],"evaluation":{"score":0}},
		{"id":"c","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"r"}],"outcome":"out_of_fuel"},
		{"id":"d","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"r"}],"evaluation":{"score":1,"step_outputs":[{"step_index":7,"base_reward":1}]}}
	]]}`
	got, err := credit.Answer([]byte(body), 10)
	require.NoError(t, err)
	var answer struct {
		Groups [][]struct {
			ID, Outcome, Reason string
			Credit              []struct {
				Return  float64 `json:"return"`
				Episode float64 `json:"episode_advantage"`
				Step    float64 `json:"step_advantage"`
				All     float64 `json:"advantage"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(got, &answer))
	g := answer.Groups[0]
	require.Len(t, g, 4)
	require.Equal(t, []string{"scored", "scored", "out_of_fuel", "unaligned"}, []string{g[0].Outcome, g[1].Outcome, g[2].Outcome, g[3].Outcome})
	require.Contains(t, g[3].Reason, "step_index 7")
	require.Nil(t, g[2].Credit)
	require.Nil(t, g[3].Credit)
	// Scores 1 and 0: episode advantages ±½. In the state "go" the returns are
	// γ·1 = ½ and 0: step advantages ±¼. Alone in its state: 0.
	require.Equal(t, []float64{0.5, 0.5, 0.25, 0.75}, []float64{g[0].Credit[0].Return, g[0].Credit[0].Episode, g[0].Credit[0].Step, g[0].Credit[0].All})
	require.Equal(t, []float64{1, 0.5, 0, 0.5}, []float64{g[0].Credit[1].Return, g[0].Credit[1].Episode, g[0].Credit[1].Step, g[0].Credit[1].All})
	require.Equal(t, []float64{0, -0.5, -0.25, -0.75}, []float64{g[1].Credit[0].Return, g[1].Credit[0].Episode, g[1].Credit[0].Step, g[1].Credit[0].All})
}

// Promise: every problem of a request has a place and tells what to do. All are reported at
// once unless one hides another.
func TestBadRequests(t *testing.T) {
	talk := `{"messages":[{"role":"assistant","content":"x"}]`
	for _, c := range []struct {
		body string
		kind fault.Kind
		want []string
	}{
		{`{"rows":[}`, fault.Protocol, []string{"body: the body is not JSON: at byte 9"}},
		{"{\"rows\":[\"\xff\"]}", fault.Protocol, []string{"body: the body is not UTF-8"}},
		{`{"rows":[{"reward":NaN}]}`, fault.Protocol, []string{"is not JSON"}},
		{`[]`, fault.Invalid, []string{"body: must be an object, not an array"}},
		{`{}`, fault.Invalid, []string{"exactly one of rows, columns and groups must be given, not 0"}},
		{`{"rows":[],"columns":{}}`, fault.Invalid, []string{"exactly one of rows, columns and groups must be given, not 2"}},
		{`{"rows":[],"row":1,"rows":[]}`, fault.Invalid, []string{"rows: is given twice"}},
		{`{"rows":[]}`, fault.Invalid, []string{"there are no rows"}},
		{`{"rowz":1,"config":{"gamma":2},"align":{},"rows":[{"group":1}]}`, fault.Invalid, []string{"rowz: is not a field", "config.gamma: 2 is not allowed", "align: is only valid with groups", "trajectory is missing"}},
		{`{"rows":[1,2,3,4,5,6]}`, fault.Exhausted, []string{"rows: 6 elements exceed the limit of 5"}},
		{`{"rows":[1]}`, fault.Invalid, []string{"is not a JSON object"}},
		{`{"rows":[{}],"step_index":"message","align":{}}`, fault.Invalid, []string{"step_index: is only valid with groups", "align: is only valid"}},
		{`{"config":{"gama":1},"rows":[]}`, fault.Invalid, []string{"config.gama: is not a field"}},
		{`{"config":{"gamma":"1"},"rows":[]}`, fault.Invalid, []string{"config.gamma: must not be a string"}},
		{`{"config":{"gamma":2,"estimator":"ppo"},"groups":[]}`, fault.Invalid, []string{`config.estimator: "ppo" is not allowed`, "config.gamma: 2 is not allowed"}},
		{`{"columns":[]}`, fault.Invalid, []string{"columns: must be an object, not an array"}},
		{`{"columns":{"scores":[]}}`, fault.Invalid, []string{"columns.scores: is not a field"}},
		{`{"columns":{"group":[1],"step":[0,1],"reward":1}}`, fault.Invalid, []string{"columns.step: has 2 rows, but columns.group has 1", "columns.reward: must be an array, not a number"}},
		{`{"columns":{"group":[]}}`, fault.Invalid, []string{"columns: the columns have no rows"}},
		{`{"columns":{"group":[1]}}`, fault.Invalid, []string{"trajectory is missing"}},
		{`{"groups":[[{"messages":[{"role":"assistant","content":"x"}],"score":1}]]}`, fault.Invalid, []string{"groups[0][0].evaluation: is missing, and so is an outcome"}},
		{`{"groups":{}}`, fault.Invalid, []string{"groups: must be an array, not an object"}},
		{`{"groups":[[],3,[{}],[` + talk + `}]]}`, fault.Invalid, []string{"groups[0]: is empty", "groups[1]: must be an array, not a number", "groups[2][0]: messages is empty"}},
		{`{"groups":[[` + talk + `,"outcome":"scored"}]]}`, fault.Invalid, []string{"groups[0][0].evaluation: is missing although the outcome is scored"}},
		{`{"groups":[[{"messages":[{"role":"user","content":"x"}]}]]}`, fault.Invalid, []string{"groups[0][0]: the trajectory has no steps"}},
		{`{"groups":[[` + talk + `}]],"step_index":"turn","align":{"default_step_reward":1,"max_unscored":9}}`, fault.Invalid, []string{`step_index: "turn" is not allowed`, "max_unscored: 9 is not allowed"}},
		{`{"config":{"estimator":"gae"},"groups":[[` + talk + `,"evaluation":{"score":1}}]]}`, fault.Invalid, []string{"the advantages cannot be computed"}},
		{`{"groups":[[` + talk + `,"evaluation":{"score":1e308,"step_outputs":[{"step_index":0,"base_reward":1e308}]}},` + talk + `,"evaluation":{"score":-1e308}}]]}`, fault.Invalid, []string{"the advantages cannot be computed"}},
	} {
		_, err := credit.Answer([]byte(c.body), 5)
		require.Error(t, err, c.body)
		require.Equal(t, c.kind, fault.As(err).Kind, c.body)
		for _, want := range c.want {
			require.ErrorContains(t, err, want, c.body)
		}
	}
}

// Promise: texts whose comparison takes cubic time are refused in each form of a request, after
// a limited time and with what to do. Without similarity they are accepted, and so are normal
// ones with it.
func TestWork(t *testing.T) {
	testneeds.NotShort(t)
	const config = `"config":{"similarity":0.99}`
	credit.Bound(t, credit.Work/50)
	anchors := make([]string, 6)
	for i := range anchors {
		text := make([]rune, 20_000)
		for k := range text {
			text[k] = rune(0x4e00 + k*(2*i+1)%200)
		}
		anchors[i] = string(text)
	}
	request := func(anchors []string) (rows, columns, groups string) {
		var list, talks []string
		for i, a := range anchors {
			list = append(list, fmt.Sprintf(`{"group":0,"trajectory":%d,"step":0,"observation":%q,"reward":0,"episode_score":1}`, i, a))
			talks = append(talks, fmt.Sprintf(`{"messages":[{"role":"user","content":%q},{"role":"assistant","content":"x"}],"evaluation":{"score":1}}`, a))
		}
		text, err := json.Marshal(anchors)
		require.NoError(t, err)
		return `"rows":[` + strings.Join(list, ",") + `]`,
			fmt.Sprintf(`"columns":{"group":[0,0,0,0,0,0],"trajectory":[0,1,2,3,4,5],"step":[0,0,0,0,0,0],"anchor":%s,"reward":[0,0,0,0,0,0],"episode_score":[1,1,1,1,1,1]}`, text),
			`"groups":[[` + strings.Join(talks, ",") + `]]`
	}
	rows, columns, groups := request(anchors)
	for where, body := range map[string]string{"rows": rows, "columns": columns, "groups": groups} {
		_, err := credit.Answer([]byte("{"+config+","+body+"}"), 10)
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
		require.ErrorIs(t, err, advantage.ErrWork)
		require.ErrorContains(t, err, where+": comparing the anchors by similarity takes more than 50000000 steps")
		require.Contains(t, fault.As(err).Hint, "send fewer rows")
		_, err = credit.Answer([]byte("{"+body+"}"), 10)
		require.NoError(t, err)
	}
	for i := range anchors {
		anchors[i] = fmt.Sprint(strings.Repeat("You see a door, a key and a lamp. ", 60), i)
	}
	rows, columns, groups = request(anchors)
	for _, body := range []string{rows, columns, groups} {
		_, err := credit.Answer([]byte("{"+config+","+body+"}"), 10)
		require.NoError(t, err)
	}
}

// FuzzAnswer checks that no body crashes the server, that a response is JSON, and that a
// refusal has a message.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"rows":[` + strings.Join(rows(), ",") + `]}`))
	f.Add([]byte(`{"config":{"estimator":"grpo"},"columns":{"group":[1,1],"trajectory":["a","b"],"step":[0,0],"anchor":["x","x"],"reward":[1,0],"episode_score":[1,null]}}`))
	f.Add([]byte(`{"groups":[[{"messages":[{"role":"assistant","content":"x"}],"evaluation":{"score":1}}]],"step_index":"message","align":{"default_step_reward":-0.1}}`))
	f.Add([]byte(`{"groups":[[{"messages":[{"role":"assistant","content":"x"}],"steps":[{"index":0,"message_count":0,"anchor":"s"}],"outcome":"trap"}]]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := credit.Answer(body, 50)
		if err != nil {
			require.NotNil(t, fault.As(err), err.Error())
			return
		}
		require.True(t, json.Valid(got), "%s", got)
	})
}
