package graders_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/rewards/graders"
)

const check = `{"type": "string_check", "name": "a", "operation": "eq", "input": "{{ sample.output_text }}", "reference": "{{ item.a }}"}`

// multi is a multi grader of two checks, called a and b, with a formula.
func multi(formula string) string {
	text, _ := json.Marshal(formula)
	return `{"type": "multi", "graders": {"a": ` + check + `, "b": ` + check + `}, "calculate_output": ` + string(text) + `}`
}

// Promise: a formula means in Python what it means in calculate_output: its operators bind as in
// mathematics, and its functions are those of the guide.
func TestFormula(t *testing.T) {
	python := testneeds.Python(t)
	for formula, want := range map[string]string{
		"0.5 * a + 0.5*b":             "3.5",
		"(a + b) / 2":                 "3.5",
		"a - b - 1":                   "-2.0",
		"a / b / 2":                   "0.375", // of 3 and 4
		"-a ^ 2 + b":                  "-5.0",
		"2 ^ a ^ 2 + 0*b":             "512.0",
		"2 ^ -a + 0*b":                "0.125",
		"min(a, b, 2.5) * max(a, b)":  "10.0",
		"min(a) + max(b)":             "7.0",
		"abs(a - b) + floor(a/2)":     "2.0",
		"ceil(b / a)":                 "2",
		"exp(0*a) + sqrt(b) + log(1)": "3.0",
		"1e2 + .5e+1*a - 1.E-1*b":     "114.6",
		"\t+a\n- -b ":                 "7.0",
		strings.Repeat("(", 90) + "a" + strings.Repeat(")", 90) + "+b": "7.0",
	} {
		w, err := graders.Import("grader.json", []byte(multi(formula)))
		require.NoError(t, err, formula)
		_, body, _ := strings.Cut(string(w.Files["reward.py"]), "def combined(s):")
		body, _, _ = strings.Cut(body, "def grade(")
		out, err := exec.Command(python, "-c", "import math\nfrom math import pow as power\ndef combined(s):"+body+"\nprint(combined({'a': 3.0, 'b': 4.0}))").CombinedOutput()
		require.NoError(t, err, "%s\n%s", formula, out)
		require.Equal(t, want, strings.TrimSpace(string(out)), formula)
	}
}

// Promise: a formula that is wrong is an error that says at which character, and never Python.
func TestWrongFormula(t *testing.T) {
	for formula, want := range map[string]string{
		"":                       "character 1: the formula ends where a number, a grader or ( is expected",
		"a + b)":                 `character 6: ")" is not expected here`,
		"(a + b":                 `character 7: ")" is missing at the end`,
		"a ** b":                 "character 4: a power is written ^, not **",
		"a +":                    "character 4: the formula ends where",
		"a b":                    `character 3: "b" is not expected here`,
		"a + b + c":              "character 9: c is not a grader (a, b) nor a function",
		"sqrt(a, b)":             "character 5: sqrt takes one number, not 2",
		"__import__('os') + a+b": "character 1: __import__ is not a grader",
		"a.real + b":             `character 2: "." is not expected here`,
		"a[0] + b":               `character 2: "[" is not expected here`,
		"ä + a + b":              `character 1: "ä" is not expected here`,
		"a + b + 1e999":          "is not a finite number",
		"a":                      "the grader b is not used",
		strings.Repeat("(", 300): "nested more than 200 deep",
		strings.Repeat("-", 300): "nested more than 200 deep",
	} {
		_, err := graders.Import("grader.json", []byte(multi(formula)))
		require.ErrorContains(t, err, want, formula)
		require.ErrorContains(t, err, "grader.json: calculate_output: ", formula)
	}
}

// Promise: no formula makes the import panic, and what it makes of one is Python.
func FuzzFormula(f *testing.F) {
	for _, s := range []string{"a + b", "min(a, b) ^ -2.5e3", "((a))/b", "log(a)-exp(b)", "a\x00b", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, formula string) {
		w, err := graders.Import("grader.json", []byte(multi(formula)))
		if err == nil {
			require.NotEmpty(t, w.Files["reward.py"])
		} else {
			require.NotNil(t, fault.As(err))
		}
	})
}

// Promise: the metrics have the numbers of rapidfuzz, sacrebleu, nltk and rouge-score
// (testdata/README.md) on 3,000 pairs of texts.
func TestMetrics(t *testing.T) {
	testneeds.NotShort(t)
	python := testneeds.Python(t)
	file, err := os.Open("testdata/pairs.jsonl.gz")
	require.NoError(t, err)
	defer file.Close()
	pairs, err := gzip.NewReader(file)
	require.NoError(t, err)
	compare := exec.Command(python, "testdata/compare.py")
	compare.Stdin = pairs
	compare.Env = append(os.Environ(), "PYTHONPATH=templates:../../../sdk/python", "PYTHONDONTWRITEBYTECODE=1")
	out, err := compare.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "3000 pairs, 0 differ", strings.TrimSpace(string(out)))
}

// Promise: every form in which a grader is written is found, and gives the same reward: alone, in
// a request, in a job and in a list or alone in a multi.
func TestForms(t *testing.T) {
	for name, text := range map[string]string{
		"alone":    check,
		"run":      `{"grader": ` + check + `, "item": {"a": 1}, "model_sample": "x"}`,
		"validate": `{"grader": ` + check + `}`,
		"job":      `{"id": "ftjob-1", "model": "o4-mini", "method": {"type": "reinforcement", "reinforcement": {"grader": ` + check + `, "hyperparameters": {}}}}`,
		"list":     `{"type": "multi", "name": "a", "graders": [` + check + `], "calculate_output": "a"}`,
		"one":      `{"type": "multi", "name": "a", "graders": ` + check + `, "calculate_output": "a"}`,
		"eval":     `{"name": "a", "data_source_config": {}, "testing_criteria": [` + check + `]}`,
	} {
		w, err := graders.Import("grader.json", []byte(text))
		require.NoError(t, err, name)
		require.Equal(t, "a", w.Name, name)
		require.Contains(t, string(w.Files["reward.py"]), `    "a": lambda row: string_check("eq", row.text("{{ sample.output_text }}"), row.text("{{ item.a }}")),`, name)
		require.Equal(t, text, string(w.Files["grader.json"]), name)
		require.Equal(t, []string{"fixtures/rows.jsonl", "grader.json", "openai_graders/__init__.py", "reward.py"}, slices.Sorted(maps.Keys(w.Files)), name)
	}
}

// Promise: everything that is wrong with a file is said at once, each with its place, and what
// cannot be had without the service is refused by its name.
func TestProblems(t *testing.T) {
	text, err := os.ReadFile("testdata/wrong.json")
	require.NoError(t, err)
	_, err = graders.Import("wrong.json", text)
	var got []string
	for _, e := range fault.Leaves(err) {
		var f *fault.Error
		require.True(t, errors.As(e, &f))
		require.NotEmpty(t, f.Hint, f.What)
		got = append(got, f.Error())
	}
	want, err := os.ReadFile("testdata/wrong.txt")
	require.NoError(t, err)
	require.Equal(t, strings.Split(strings.TrimSpace(string(want)), "\n"), got)
	for text, want := range map[string]string{
		`[1]`:                     "must not be an array",
		`{}`:                      "it has no grader",
		`{"type": "endpoint"}`:    `type: "endpoint" is not a grader that can be imported`,
		`{"type":1}`:              "type must not be a number",
		`{"a":1,"a":2}`:           "a is given twice",
		`{"grader":7}`:            "grader: must not be a number",
		`{"testing_criteria":[]}`: "testing_criteria: it must have at least one grader",
		`{"testing_criteria":[{"type":"python","name":"p","source":"def grade(s, i): return 1"}]}`: "testing_criteria[0]: pass_threshold is missing",
	} {
		_, err := graders.Import("f.json", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// Promise: texts of a grader become texts of Python, whatever is in them.
func TestLiterals(t *testing.T) {
	python := testneeds.Python(t)
	odd := "quote \" and ' \\ \n\r\t \x00\x1b\x7f é 東 😀 \u2028 {x} %s \\N{BEL}"
	text, err := json.Marshal(map[string]string{"type": "string_check", "name": "odd", "operation": "eq", "input": odd, "reference": "{{item.a}}"})
	require.NoError(t, err)
	w, err := graders.Import("f.json", text)
	require.NoError(t, err)
	_, call, _ := strings.Cut(string(w.Files["reward.py"]), `string_check("eq", `)
	call, _, _ = strings.Cut(call, `, row.text(`)
	out, err := exec.Command(python, "-c", "import json\nprint(json.dumps("+call+"))").CombinedOutput()
	require.NoError(t, err, string(out))
	var back string
	require.NoError(t, json.Unmarshal(out, &back))
	require.Equal(t, odd, back)
}
