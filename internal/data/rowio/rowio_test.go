package rowio_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/rowio"
	"github.com/stretchr/testify/require"
)

// Promise: the rows of the golden file, with their result fields, go in
// and come out with the reference's numbers.
func TestGoldenThroughFiles(t *testing.T) {
	data, err := os.ReadFile("../../../core/advantage/testdata/gigpo.jsonl")
	require.NoError(t, err)
	for _, text := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var c struct {
			Name          string
			Gamma, Omega  float64
			Normalization advantage.Normalization
			BaselineOver  advantage.Scope `json:"baseline_over"`
			Similarity    float64
			Rows          []json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		cfg := advantage.Default()
		cfg.Gamma, cfg.Omega, cfg.Normalization = c.Gamma, c.Omega, c.Normalization
		cfg.BaselineOver, cfg.Similarity, cfg.Singleton = c.BaselineOver, c.Similarity, advantage.SingletonRaw

		var in, out bytes.Buffer
		for _, row := range c.Rows {
			in.Write(append(row, '\n'))
		}
		var res advantage.Result
		table, err := rowio.Read("rows", &in)
		require.NoError(t, err, c.Name)
		require.NoError(t, advantage.Estimate(cfg, &table.Rows, &res))
		require.NoError(t, table.Write(&out, &res))

		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, got, len(c.Rows))
		for i := range got {
			var want, have map[string]any
			require.NoError(t, json.Unmarshal(c.Rows[i], &want))
			require.NoError(t, json.Unmarshal([]byte(got[i]), &have))
			require.Len(t, have, len(want))
			for key, w := range want {
				if x, ok := w.(float64); ok {
					require.LessOrEqual(t, math.Abs(have[key].(float64)-x), 1e-4+1e-4*math.Abs(x), "%s row %d %s", c.Name, i, key)
					continue
				}
				require.Equal(t, w, have[key])
			}
		}
	}
}

const good = `{"group":"g","trajectory":"t","step":0,"observation":"o","reward":0,"episode_score":1}`

func with(old, new string) string { return strings.Replace(good, old, new, 1) }

// Promise: whatever is wrong with a file is said at once, with line, group,
// trajectory and step.
func TestReadNamesEveryProblem(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"nothing", "\n\n", []string{"there are no rows"}},
		{"no JSON", good + "\n{\"group\":", []string{"line 2: is not JSON"}},
		{"cut off", good[:40], []string{"line 1: is not JSON"}},
		{"a list", good + "\n[1]", []string{"line 2: is not a JSON object"}},
		{"a list of rows", `[` + good + `]`, []string{"rows: this is a JSON array; one JSON object per line is expected"}},
		{"CSV", "group,trajectory,step\ng,t,0\n", []string{"rows: this is CSV, judging by its first line"}},
		{"not UTF-8", with(`"o"`, "\"\xff\""), []string{"line 1: is not UTF-8"}},
		{"NaN", with(`"reward":0`, `"reward":NaN`), []string{`line 1 (group "g", trajectory "t", step 0): reward is not finite`}},
		{"infinite score", with(`"episode_score":1`, `"episode_score":-Infinity`), []string{`step 0): episode_score is not finite`}},
		{"overflow", with(`"reward":0`, `"reward":1e999`), []string{`reward is not finite`}},
		{"twice", good + "\n" + good, []string{`line 2 (group "g", trajectory "t", step 0): the step occurs twice, first in line 1`}},
		{"hole", good + "\n" + with(`"step":0`, `"step":2`), []string{`line 2 (group "g", trajectory "t", step 2): step 1 is missing`}},
		{"no first step", with(`"step":0`, `"step":7`), []string{`step 0 is missing`}},
		{"two scores", good + "\n" + strings.Replace(with(`"step":0`, `"step":1`), `score":1`, `score":2`, 1),
			[]string{`line 2 (group "g", trajectory "t", step 1): episode_score is 2 here but 1 in line 1`}},
		{"scored in part", good + "\n" + strings.Replace(with(`"step":0`, `"step":1`), `score":1`, `score":null`, 1),
			[]string{`the trajectory is scored in some rows but not in others (compare line 1)`}},
		{"missing fields", `{"group":"g","trajectory":"t","step":0}`,
			[]string{"observation is missing; reward is missing; episode_score is missing"}},
		{"no name", `{"step":0,"observation":"o","reward":0,"episode_score":1}`, []string{"line 1: group is missing; trajectory is missing"}},
		{"wrong types", `{"group":"g","trajectory":"t","step":0,"observation":1,"reward":"x","episode_score":true,"valid":1}`,
			[]string{"observation is not a string; reward is not a number; episode_score is not a number; valid is neither true nor false"}},
		{"step 1.5", with(`"step":0`, `"step":1.5`), []string{"line 1: step is not an integer"}},
		{"step −1", with(`"step":0`, `"step":-1`), []string{"line 1: step is not an integer"}},
		{"huge step", with(`"step":0`, `"step":2147483647`), []string{"step 0 is missing"}},
		{"field twice", with(`"step":0`, `"step":0,"step":1`), []string{"step is given twice"}},
		{"null reward of a scored row", with(`"reward":0`, `"reward":null`), []string{"reward is null although the trajectory has a score"}},
		{"end in the middle", with(`"step":0`, `"step":0,"terminated":true`) + "\n" + with(`"step":0`, `"step":1`),
			[]string{`line 1 (group "g", trajectory "t", step 0): terminated or truncated, but step 1 follows`}},
		{"value in part", with(`"step":0`, `"step":0,"value":1`) + "\n" + with(`"step":0`, `"step":1`), []string{"value is given in 1 of 2 rows"}},
		{"several", "x\n" + with(`"reward":0`, `"reward":NaN`) + "\n" + good,
			[]string{"3 problems", "line 1: is not JSON", "line 2 (group", "line 3 (group"}},
		{"rewards are not an object", with(`"step":0`, `"step":0,"rewards":[1]`), []string{"rewards is not an object"}},
		{"no rewards", with(`"step":0`, `"step":0,"rewards":{}`), []string{"rewards is empty"}},
		{"a reward twice", with(`"step":0`, `"step":0,"rewards":{"a":1,"a":2}`), []string{"rewards.a is given twice"}},
		{"wrong rewards", with(`"step":0`, `"step":0,"rewards":{"a":"x","b":{"weight":1},"c":{"score":1,"wait":2},"d":NaN}`),
			[]string{"rewards.a is not a number", "rewards.b has no score", `rewards.c has the unknown key "wait"; it may have score and weight`, "rewards.d is not finite"}},
		{"two weights", with(`"step":0`, `"step":0,"rewards":{"a":{"score":1,"weight":2}}`) + "\n" + with(`"step":0`, `"step":1,"rewards":{"a":1}`),
			[]string{`line 2 (group "g", trajectory "t", step 1): rewards.a has weight 1 here but 2 in line 1`}},
		{"a reward without a score", with(`"step":0`, `"step":0,"scored":true,"rewards":{"a":null}`), []string{"rewards.a is null although scored is true"}},
		{"a role that is a number", with(`"step":0`, `"step":0,"role":1`), []string{"role is not a string"}},
		{"control characters", with(`"t"`, `"t\u001b[31m"`) + "\n" + with(`"t"`, `"t\u001b[31m"`), []string{`"t\x1b[31m"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rowio.Read("rows", strings.NewReader(tt.in))
			require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			require.NotEmpty(t, fault.As(err).Hint)
		})
	}
}

// Promise: a bad row does not make its neighbours look bad.
func TestReadDoesNotCascade(t *testing.T) {
	in := with(`"episode_score":1`, `"episode_score":NaN`) + "\n" + with(`"step":0`, `"step":1`)
	_, err := rowio.Read("rows", strings.NewReader(in))
	require.ErrorContains(t, err, "1 problem:")
	in = "x\n" + with(`"step":0`, `"step":1`)
	_, err = rowio.Read("rows", strings.NewReader(in))
	require.ErrorContains(t, err, "1 problem:")
}

// Promise: a thousand problems make a message that can be read.
func TestReadCapsTheList(t *testing.T) {
	_, err := rowio.Read("rows", strings.NewReader(strings.Repeat("x\n", 1000)))
	require.ErrorContains(t, err, "1000 problems")
	require.ErrorContains(t, err, "and 980 more")
	require.Less(t, len(err.Error()), 4096)
}

// Promise: fields that Merit does not know keep their text and their place,
// stale results go, and rows keep their order.
func TestWriteKeepsTheRest(t *testing.T) {
	in := `{"x": {"a": [1, "}"]}, "advantage": 7, "group":3,"trajectory":"a\"b", "step":1, "observation":"ö\n","reward":1e0 , "episode_score":2, "z":"," } ` + "\r\n\n" +
		`{"return":null,"step":0,"group":"3","trajectory":"a\"b","observation":"","reward":0.5,"episode_score":2}`
	table, err := rowio.Read("rows", strings.NewReader(in))
	require.NoError(t, err)
	cfg := advantage.Default()
	cfg.Gamma = 0.5
	var res advantage.Result
	require.NoError(t, advantage.Estimate(cfg, &table.Rows, &res))
	var out bytes.Buffer
	require.NoError(t, table.Write(&out, &res))
	require.Equal(t, `{"x": {"a": [1, "}"]}, "group":3,"trajectory":"a\"b", "step":1, "observation":"ö\n","reward":1e0 , "episode_score":2, "z":",","return":1,"episode_advantage":0,"step_advantage":0,"advantage":0,"anchor_group":0}
{"step":0,"group":"3","trajectory":"a\"b","observation":"","reward":0.5,"episode_score":2,"return":1,"episode_advantage":0,"step_advantage":0,"advantage":0,"anchor_group":1}
`, out.String())
	require.Equal(t, `line 3 (group "3", trajectory "a\"b", step 0)`, table.Where(1))
}

// Promise: a trajectory without a score is marked as such and is never 0 by
// way of a missing reward.
func TestUnscoredRows(t *testing.T) {
	in := `{"group":"g","trajectory":"a","step":0,"observation":"o","reward":null,"episode_score":null}
{"group":"g","trajectory":"b","step":0,"observation":"o","reward":1,"episode_score":5,"scored":false}
{"group":"g","trajectory":"c","step":0,"observation":"o","reward":1,"episode_score":1}
{"group":"g","trajectory":"d","step":0,"observation":"o","reward":3,"episode_score":3}`
	table, err := rowio.Read("rows", strings.NewReader(in))
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, true, true}, table.Rows.Scored)
	var res advantage.Result
	require.NoError(t, advantage.Estimate(advantage.Default(), &table.Rows, &res))
	var out bytes.Buffer
	require.NoError(t, table.Write(&out, &res))
	lines := strings.Split(out.String(), "\n")
	require.Contains(t, lines[0], `"return":null,"episode_advantage":0,"step_advantage":0,"advantage":0,"anchor_group":-1}`)
	require.Contains(t, lines[1], `"return":1,"episode_advantage":0,"step_advantage":0,"advantage":0,"anchor_group":-1}`)
	require.Contains(t, lines[2], `"advantage":-2,"anchor_group":0}`)
	require.Equal(t, 2, res.Stats.Unscored)
}

// Promise: optional columns exist when a file has them, and an anchor stands
// in for the observation.
func TestOptionalColumns(t *testing.T) {
	table, err := rowio.Read("rows", strings.NewReader(good))
	require.NoError(t, err)
	require.Nil(t, table.Rows.Value)
	require.Nil(t, table.Rows.Valid)
	require.Nil(t, table.Rows.Truncated)

	table, err = rowio.Read("rows", strings.NewReader(
		with(`"step":0`, `"step":0,"anchor":"hash","valid":false,"value":0.5,"truncated":true,"bootstrap":2,"terminated":false`)))
	require.NoError(t, err)
	r := table.Rows
	require.Equal(t, []string{"hash"}, r.Anchor)
	require.Equal(t, []bool{false}, r.Valid)
	require.Equal(t, []bool{true}, r.Truncated)
	require.Equal(t, []bool{false}, r.Terminated)
	require.Equal(t, []float64{0.5}, r.Value)
	require.Equal(t, []float64{2}, r.Bootstrap)
}

// Promise: an estimator's complaint about a row is told in the file's names.
func TestExplain(t *testing.T) {
	in := strings.ReplaceAll(with(`"reward":0`, `"reward":1.7e308`), `score":1`, `score":0`) + "\n" +
		strings.Replace(with(`"reward":0`, `"reward":1.7e308`), `"step":0`, `"step":1`, 1)
	in = strings.ReplaceAll(in, `score":1`, `score":0`)
	table, err := rowio.Read("rows", strings.NewReader(in))
	require.NoError(t, err)
	cfg := advantage.Default()
	cfg.Gamma = 1
	err = advantage.Estimate(cfg, &table.Rows, new(advantage.Result))
	require.ErrorContains(t, table.Explain(err), `line 1 (group "g", trajectory "t", step 0): return +Inf`)
	require.Equal(t, os.ErrExist, table.Explain(os.ErrExist))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }

// Promise: a full disk is an error, also when it shows at the last flush.
func TestWriteReportsAFullDisk(t *testing.T) {
	table, err := rowio.Read("rows", strings.NewReader(good))
	require.NoError(t, err)
	var res advantage.Result
	require.NoError(t, advantage.Estimate(advantage.Default(), &table.Rows, &res))
	require.ErrorContains(t, table.Write(failing{}, &res), "no space left on device")
}

func ExampleRead() {
	in := `{"group":"g","trajectory":"a","step":0,"observation":"hall","reward":1,"episode_score":1}
{"group":"g","trajectory":"b","step":0,"observation":"hall","reward":0,"episode_score":0}
`
	table, err := rowio.Read("rows", strings.NewReader(in))
	if err != nil {
		fmt.Println(err)
		return
	}
	var res advantage.Result
	if err := advantage.Estimate(advantage.Default(), &table.Rows, &res); err != nil {
		fmt.Println(table.Explain(err))
		return
	}
	_ = table.Write(os.Stdout, &res)
	// Output:
	// {"group":"g","trajectory":"a","step":0,"observation":"hall","reward":1,"episode_score":1,"return":1,"episode_advantage":0.5,"step_advantage":0.5,"advantage":1,"anchor_group":0}
	// {"group":"g","trajectory":"b","step":0,"observation":"hall","reward":0,"episode_score":0,"return":0,"episode_advantage":-0.5,"step_advantage":-0.5,"advantage":-1,"anchor_group":0}
}

// Promise: rows say what each of several rewards gave, who decided, and what a greedy episode
// achieved; a trajectory of which a reward has no score is left out; estimators say what is
// missing, with the line.
func TestSeveralRewards(t *testing.T) {
	member := func(name, more string) string {
		return strings.Replace(good, `"trajectory":"t"`, `"trajectory":"`+name+`",`+more, 1) + "\n"
	}
	run := func(estimator, in string) (string, error) {
		cfg := advantage.Default()
		cfg.Estimator = estimator
		var out bytes.Buffer
		_, err := rowio.Estimate(cfg, "rows", strings.NewReader(in), &out)
		return out.String(), err
	}
	three := member("a", `"rewards":{"form":{"score":1,"weight":0.5},"right":1}`) +
		member("b", `"rewards":{"right":0,"form":{"score":0,"weight":0.5}}`) +
		member("c", `"rewards":{"right":1,"form":null}`)
	out, err := run("gdpo", three)
	require.NoError(t, err)
	lines := strings.Split(out, "\n")
	require.Contains(t, lines[0], `"episode_advantage":1.06`)
	require.Contains(t, lines[1], `"episode_advantage":-1.06`)
	require.Contains(t, lines[2], `"advantage":0,`)
	_, err = run("gdpo", member("a", `"rewards":{"right":1}`)+member("b", `"rewards":{"right":1,"form":0}`))
	require.ErrorContains(t, err, `line 2 (group "g", trajectory "b", step 0): reward "form" is given for some members of the group only`)
	_, err = run("gdpo", good)
	require.ErrorContains(t, err, "estimator gdpo needs the score of each reward")

	out, err = run("remax", member("a", `"greedy_score":0.25`)+member("b", `"greedy_score":0.25`))
	require.NoError(t, err)
	require.Contains(t, out, `"advantage":0.75`)
	_, err = run("rae", member("a", `"role":"buyer"`)+member("b", `"role":null`))
	require.ErrorContains(t, err, `line 2 (group "g", trajectory "b", step 0): there is no role`)
}
