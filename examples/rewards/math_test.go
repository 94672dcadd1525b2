package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
)

// said is what a reward said of one trajectory, in the sandbox or natively.
type said struct {
	ID      string   `json:"id"`
	Outcome string   `json:"outcome"`
	Score   *float64 `json:"score"`
	Reason  string   `json:"reason"`
	Fuel    uint64   `json:"fuel"`
}

func readMath[T any](t *testing.T, text []byte) []T {
	var rows []T
	for line := range bytes.Lines(text) {
		var row T
		require.NoError(t, json.Unmarshal(line, &row), string(line))
		rows = append(rows, row)
	}
	return rows
}

// mathPackages installs what the reward needs and returns its folder.
func mathPackages(t *testing.T) string {
	i := interpreter.Python()
	testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	t.Setenv("MERIT_CACHE", testCache())
	if err := installPackages(t.Context(), "python3", "math"); err != nil {
		testneeds.Aside(t, err.Error())
	}
	return "math"
}

// sandboxed scores the file with the reward of a folder.
func sandboxed(t *testing.T, folder, data string, fuel uint64) []said {
	cfg := merit.DefaultConfig().Sandbox
	cfg.Fuel = max(fuel, cfg.Fuel)
	cfg.WallClock, cfg.StartWallClock = time.Hour, time.Hour // fuel decides, not how busy the machine is
	rewards, err := merit.LoadRewards(t.Context(), cfg, []merit.Reward{{Module: folder, Weight: 1}})
	require.NoError(t, err)
	defer rewards.Close()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	_, err = rewards.Evaluate(t.Context(), merit.EvaluateOptions{Data: data, Out: out})
	require.NoError(t, err)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	return readMath[said](t, text)
}

// natively runs Python with the reward library and the same hashes as the sandbox.
func natively(t *testing.T, args ...string) []byte {
	cmd := exec.Command(testneeds.PythonWith(t), append([]string{"-B"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONPATH="+filepath.Join(testneeds.Root(), "sdk", "python"))
	cmd.Stderr = &bytes.Buffer{}
	text, err := cmd.Output()
	require.NoError(t, err, cmd.Stderr)
	return text
}

// ownTests returns math-verify's source distribution, unpacked.
func ownTests(t *testing.T) string {
	const version = "0.9.0"
	folder := filepath.Join(testneeds.Root(), ".ci", "tools", "math_verify-"+version)
	if given := os.Getenv("MERIT_MATH_VERIFY"); given != "" {
		folder = given
	}
	testneeds.File(t, "run: pip download --no-deps --no-binary :all: math-verify=="+version+", unpack it there, or set MERIT_MATH_VERIFY", folder)
	return folder
}

// Promise: every test of math-verify's own passes in the sandbox, and each of
// its calls returns the same there as natively, expression by expression.
func TestMathVerifysOwnTests(t *testing.T) {
	testneeds.Slow(t, "starts sympy")
	sdist, folder := ownTests(t), t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(folder, "packages"), os.DirFS(filepath.Join(mathPackages(t), packagesFolder))))
	files := map[string]string{"testdata/math/own.py": "reward.py", "testdata/math/pytest.py": "pytest.py", "math/warm.py": "warm.py"}
	modules, err := filepath.Glob(filepath.Join(sdist, "tests", "test_*.py"))
	require.NoError(t, err)
	require.Len(t, modules, 11)
	for _, path := range modules {
		files[path] = filepath.Join("tests", "own_"+strings.TrimPrefix(filepath.Base(path), "test_"))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "tests"), 0o755))
	for from, to := range files {
		text, err := os.ReadFile(filepath.FromSlash(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, to), text, 0o644))
	}
	data := filepath.Join(t.TempDir(), "cases.jsonl")
	listed := natively(t, filepath.Join(folder, "reward.py"))
	require.NoError(t, os.WriteFile(data, listed, 0o644))
	cases := readMath[struct {
		ID     string `json:"id"`
		Native said   `json:"native"`
	}](t, listed)
	require.Len(t, cases, 291)

	results := sandboxed(t, folder, data, 20_000_000_000)
	require.Len(t, results, len(cases))
	for i, c := range cases {
		require.Equal(t, 1.0, *c.Native.Score, "natively %s does not pass: %s", c.ID, c.Native.Reason)
		if r := results[i]; r.Score == nil || *r.Score != 1 || r.Reason != c.Native.Reason {
			t.Errorf("%s: %s\nnatively: %s\nsandbox:  %s", c.ID, r.Outcome, c.Native.Reason, r.Reason)
		}
	}
}

// Promise: of 1,320 real answers to problems of GSM8K every one is scored on
// the default fuel, as those who published them scored it, and as the reward
// scores it natively.
func TestMathOnRealAnswers(t *testing.T) {
	testneeds.Slow(t, "starts sympy")
	data := testneeds.Shared(t, "data", "gsm8k_model_solutions.jsonl")
	folder := mathPackages(t)
	text, err := os.ReadFile(data)
	require.NoError(t, err)
	rows := readMath[struct {
		Metadata struct {
			IsCorrect bool `json:"is_correct"`
		} `json:"metadata"`
	}](t, text)
	require.Len(t, rows, 1320)
	native := readMath[said](t, natively(t, "-m", "merit_reward", filepath.Join(folder, "reward.py"), data))
	for i, r := range sandboxed(t, folder, data, 0) {
		require.Equal(t, "scored", r.Outcome, r.ID)
		require.Equal(t, rows[i].Metadata.IsCorrect, *r.Score == 1, "%s: %s", r.ID, r.Reason)
		require.Equal(t, *native[i].Score, *r.Score, r.ID)
		require.Equal(t, native[i].Reason, r.Reason, r.ID)
	}
}

// Promise: natively and in the sandbox the reward says the same of its own data,
// on the fuel that its README recommends.
func TestMathNativelyAsSandboxed(t *testing.T) {
	testneeds.Slow(t, "starts sympy")
	folder := mathPackages(t)
	data := filepath.Join(folder, "data.jsonl")
	native := readMath[said](t, natively(t, "-m", "merit_reward", filepath.Join(folder, "reward.py"), data))
	stopped := 0
	for i, r := range sandboxed(t, folder, data, 2_000_000_000) {
		if r.Outcome == "out_of_fuel" {
			stopped++
			continue
		}
		require.Equal(t, "scored", r.Outcome, r.ID)
		require.Equal(t, *native[i].Score, *r.Score, r.ID)
		require.Equal(t, native[i].Reason, r.Reason, r.ID)
	}
	require.Zero(t, stopped)
}

// hostile answers, each with what becomes of it on the budget of fuel and memory
// that every evaluation has by default. None may be right. Backslashes and
// formulas need more memory than there is before they need the fuel: each is a
// match that math-verify keeps.
var hostile = map[string]struct{ answer, outcome string }{
	"tower":              {`\boxed{10^{10^{10}}}`, "out_of_fuel"},
	"tower in plain":     {`10^10^10^10`, "scored"},
	"factorials":         {`\boxed{((((9!)!)!)!)!}`, "out_of_fuel"},
	"one factorial":      {`\boxed{99999999!}`, "out_of_fuel"},
	"digits":             {`\boxed{` + strings.Repeat("7", 100_000) + `}`, "out_of_fuel"},
	"digits in plain":    {strings.Repeat("7", 100_000), "scored"},
	"numbers":            {strings.Repeat("777777777 ", 10_000), "out_of_fuel"},
	"parentheses":        {`\boxed{` + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + `}`, "scored"},
	"braces":             {`\boxed{` + strings.Repeat("{", 20_000) + "1" + strings.Repeat("}", 20_000) + `}`, "scored"},
	"fractions":          {`\boxed{` + strings.Repeat(`\frac{1}{`, 200) + "1" + strings.Repeat("}", 200) + `}`, "scored"},
	"fractions left":     {`\boxed{` + strings.Repeat(`\frac{1}{`, 20_000), "scored"},
	"sum":                {`\boxed{` + strings.Repeat("x+", 20_000) + `x}`, "out_of_fuel"},
	"a million elements": {`\boxed{\begin{pmatrix}` + strings.Repeat(strings.Repeat("1 & ", 999)+`1 \\ `, 1000) + `\end{pmatrix}}`, "out_of_fuel"},
	"dollars":            {strings.Repeat("$", 100_000), "scored"},
	"formulas":           {strings.Repeat("$1$ ", 20_000), "out_of_memory"},
	"answers":            {strings.Repeat("answer ", 20_000), "out_of_fuel"},
	"backslashes":        {strings.Repeat(`\`, 100_000), "out_of_memory"},
	"boxes":              {strings.Repeat(`\boxed{`, 20_000), "scored"},
	"other digits":       {`\boxed{٤} ` + strings.Repeat("𝟜\u202e", 1000), "scored"},
	"a zero byte":        {"\\boxed{4\x00}", "scored"},
	"a file":             {`\boxed{\input{/etc/passwd}}`, "scored"},
	"a shell":            {`\boxed{\write18{rm -rf /}}`, "scored"},
	"Python":             {`\boxed{__import__('os')._exit(0)}`, "scored"},
	"Python in plain":    {`__import__('os')._exit(0)`, "scored"},
	"a sum without end":  {`\boxed{\sum_{k=1}^{10^{12}} \frac{1}{k^2+1}}`, "out_of_fuel"},
	"an integral":        {`\boxed{\int_0^1 x^{x^{x^x}} \sin(e^{\cos x^{x}}) dx}`, "out_of_fuel"},
	"a polynomial":       {`\boxed{(a+b+c+d+e+f+g)^{60}}`, "out_of_fuel"},
	"an exponent":        {`\boxed{1e999999999}`, "scored"},
}

// onOwn has the outcomes that differ on Merit's own CPython, which needs less fuel and so
// reaches the limit of memory first.
var onOwn = map[string]string{"a million elements": "out_of_memory", "a polynomial": "out_of_memory"}

// Promise: an answer that is made to exhaust math-verify, sympy or Python, or to
// be run by them, is never right: it is wrong, or it has no score and says why.
// The answer after it is scored as ever.
func TestMathOnHostileAnswers(t *testing.T) {
	testneeds.Slow(t, "starts sympy")
	folder := mathPackages(t)
	var rows []byte
	add := func(id, answer string) {
		line, err := json.Marshal(map[string]any{"id": id, "ground_truth": "4", "messages": []map[string]string{{"role": "assistant", "content": answer}}})
		require.NoError(t, err)
		rows = append(append(rows, line...), '\n')
	}
	names := slices.Sorted(maps.Keys(hostile))
	for _, name := range names {
		add(name, hostile[name].answer)
		add("after "+name, `\boxed{4}`)
	}
	data := filepath.Join(t.TempDir(), "hostile.jsonl")
	require.NoError(t, os.WriteFile(data, rows, 0o644))
	for i, r := range sandboxed(t, folder, data, 0) {
		name := names[i/2]
		if i%2 == 1 {
			require.Equal(t, "scored 1", fmt.Sprint(r.Outcome, " ", *r.Score), "after %s", name)
			continue
		}
		want := hostile[name].outcome
		if outcome := onOwn[name]; outcome != "" && best() == nil {
			want = outcome
		}
		require.Equal(t, want, r.Outcome, "%s: %s", name, r.Reason)
		require.True(t, r.Score == nil || *r.Score == 0, name)
		require.NotEmpty(t, r.Reason, name)
	}
}
