// Package zoo_test runs rewards in the shapes that people have natively and in
// the sandbox, and holds the two to each other.
package zoo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

var update = flag.Bool("update", false, "write golden.jsonl and the tables of the README anew")

// specimen is one entry of index.yaml, which says what the fields mean.
type specimen struct {
	File, Shape, Calls, Data, Shows, Want, Outcome, Says, Why, Warns, Native string

	With              map[string]any
	Grouped, Packages bool

	// Own is what Merit's own CPython does instead, if it is in use.
	Own *struct{ Want, Outcome, Says string }
}

// here returns the specimen as the CPython in use must treat it.
func (s specimen) here() specimen {
	if s.Own != nil && interpreter.Python().Package == "" {
		s.Want, s.Outcome, s.Says = s.Own.Want, s.Own.Outcome, s.Own.Says
	}
	return s
}

// path is the file without the function.
func (s specimen) path() string { return strings.Split(s.File, ":")[0] }

// rows is the data.
func (s specimen) rows() string { return filepath.Join("data", s.Data+".jsonl") }

// index reads the entries, and fills in what they leave out.
func index(t *testing.T) []specimen {
	text, err := os.ReadFile("index.yaml")
	require.NoError(t, err)
	var all []specimen
	require.NoError(t, yaml.UnmarshalWithOptions(text, &all, yaml.Strict()))
	for i := range all {
		s := &all[i]
		if _, function, ok := strings.Cut(s.File, ":"); ok {
			s.Calls = function
		}
		if s.Want == "" {
			s.Want = "equal"
		}
	}
	return all
}

// said is what one row came to: natively Score is a number, nil for none, or
// what a number cannot be.
type said struct {
	Outcome string `json:"outcome"`
	Score   any    `json:"score"`
	Reason  string `json:"reason"`
}

// number returns the score, if there is one.
func (s said) number() (float64, bool) { f, ok := s.Score.(float64); return f, ok }

// same says whether two rows have the same score, bit for bit, or both have none.
func same(native, here said) bool {
	a, scored := native.number()
	b, also := here.number()
	return scored == also && math.Float64bits(a) == math.Float64bits(b)
}

// scores reads a list of what native.py and native.mjs print.
func scores(text []byte) (list []said) {
	var values []any
	_ = json.Unmarshal(text, &values) // golden.jsonl is JSON
	for _, v := range values {
		list = append(list, said{Score: v})
	}
	return list
}

// natively runs a reward as its trainer does.
func (s specimen) natively(t *testing.T) []byte {
	if s.Native == "none" {
		return nil
	}
	return s.nativelyOver(t, s.rows())
}

// nativelyOver does so with the rows of a file.
func (s specimen) nativelyOver(t *testing.T, data string) []byte {
	cmd := exec.Command(testneeds.Tool(t, "install Node.js", "node"), "native.mjs", s.path(), data, filepath.Join("..", "..", "js"))
	if s.Shape != "js" {
		cmd = s.python(t, absolute(t, data))
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return bytes.TrimSpace(out)
}

func absolute(t *testing.T, path string) string {
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// python is the command that runs a reward in CPython, in a folder of its own or,
// where it reads files, in the reward's.
func (s specimen) python(t *testing.T, data string) *exec.Cmd {
	file, folder := absolute(t, s.path()), t.TempDir()
	if s.language() != "" {
		file = absolute(t, s.twin())
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file, folder = filepath.Join(file, "reward.py"), file
	}
	in, err := json.Marshal(map[string]any{"file": file, "shape": s.Shape, "calls": s.Calls, "data": data, "with": s.With, "by": s.by()})
	require.NoError(t, err)
	python := testneeds.Python(t)
	if s.Native == "data" {
		python = testneeds.DataPython(t)
	}
	cmd := exec.Command(python, "-B", absolute(t, "native.py"))
	cmd.Dir, cmd.Stdin = folder, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0")
	if s.Packages {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+packages(t))
	}
	return cmd
}

// by says which rows come in one call.
func (s specimen) by() string {
	switch {
	case s.Grouped:
		return "group"
	case s.Data == "":
		return "columns" // as in a data set
	}
	return ""
}

// packages is where examples/rewards has put math-verify and sympy.
func packages(t *testing.T) string {
	folder := filepath.Join(testneeds.Root(), "examples", "rewards", "math", "packages")
	return testneeds.File(t, "run: go run ./examples/rewards -install", folder)
}

// sandboxed runs merit eval, and returns what it wrote and what it said.
func (s specimen) sandboxed(t *testing.T) (rows []said, text string) {
	merit := testneeds.Merit(t)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	args := []string{"eval", "--reward", s.reward(t), "--data", s.rows(), "--out", out, "--timeout", "5m"}
	if s.With != nil {
		with, err := json.Marshal(s.With)
		require.NoError(t, err)
		args = append(args, "--with", string(with))
	}
	printed, err := exec.Command(merit, args...).CombinedOutput()
	written, missing := os.ReadFile(out)
	if missing != nil {
		require.Error(t, err, "nothing was written, and the exit code is 0: %s", printed)
		return nil, string(printed)
	}
	for line := range bytes.Lines(written) {
		var row said
		require.NoError(t, json.Unmarshal(line, &row))
		rows = append(rows, row)
	}
	return rows, string(printed)
}

// reward is the argument of merit eval; packages are next to their reward, as
// pip install --target puts them.
func (s specimen) reward(t *testing.T) string {
	switch {
	case s.language() != "":
		return s.module(t)
	case !s.Packages:
		return s.File
	}
	folder := filepath.Join(t.TempDir(), "reward")
	require.NoError(t, os.CopyFS(folder, os.DirFS(packages(t))))
	text, err := os.ReadFile(s.path())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "reward.py"), text, 0o644))
	return folder
}

// Promise: every reward of the zoo, called natively as its own trainer calls it
// and by merit eval, has the same scores, bit for bit, or the outcome and the
// words that the index says.
func TestZoo(t *testing.T) {
	testneeds.Slow(t, "compares hundreds of rewards with how they run natively")
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	golden := readGolden(t)
	for _, s := range index(t) {
		t.Run(s.File, func(t *testing.T) {
			t.Parallel()
			native := s.natively(t)
			if *update {
				golden.put(s.File, native)
			} else if s.Native == "" || s.Native == "data" {
				require.JSONEq(t, string(golden.of(s.File)), string(native), "natively it is not what golden.jsonl says")
			}
			rows, text := s.sandboxed(t)
			require.Empty(t, s.here().check(native, rows, text))
		})
	}
	t.Cleanup(func() { golden.write(t, index(t)) })
}

// check returns how what merit eval said is not what the index says.
func (s specimen) check(native []byte, rows []said, text string) string {
	switch {
	case !strings.Contains(text, s.Warns):
		return fmt.Sprintf("merit eval does not say %q:\n%s", s.Warns, text)
	case s.Want == "refused" && (rows != nil || !strings.Contains(text, s.Says)):
		return fmt.Sprintf("it is not refused with %q:\n%s", s.Says, text)
	case s.Want == "refused":
		return ""
	case rows == nil:
		return text
	}
	differ, typed := s.compare(scores(native), rows)
	switch {
	case s.Want == "differs" && len(differ) == 0:
		return "it does not differ"
	case s.Want == "differs":
		return ""
	case s.Want == "typed" && typed == 0:
		return fmt.Sprintf("no row is %s with %q:\nnatively %s\nhere     %v", s.Outcome, s.Says, native, rows)
	}
	return strings.Join(differ, "\n")
}

// compare lists rows that differ, and counts those that have the outcome and the
// words of the index.
func (s specimen) compare(native, rows []said) (differ []string, typed int) {
	if native != nil && len(native) != len(rows) {
		return []string{fmt.Sprintf("%d rows natively, %d here", len(native), len(rows))}, 0
	}
	for i, row := range rows {
		switch {
		case s.Want == "typed" && row.Outcome == s.Outcome && row.Score == nil && strings.Contains(row.Reason, s.Says):
			typed++
		case native != nil && !same(native[i], row):
			differ = append(differ, fmt.Sprintf("row %d: natively %v, here %s %v %s", i+1, native[i].Score, row.Outcome, row.Score, row.Reason))
		}
	}
	return differ, typed
}

// golden is what every reward says natively, as it was recorded.
type golden struct {
	sync.Mutex
	native map[string]json.RawMessage
}

type recorded struct {
	Reward string          `json:"reward"`
	Native json.RawMessage `json:"native"`
}

func readGolden(t *testing.T) *golden {
	g := &golden{native: map[string]json.RawMessage{}}
	text, err := os.ReadFile("golden.jsonl")
	if *update && os.IsNotExist(err) {
		return g
	}
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		var r recorded
		require.NoError(t, json.Unmarshal(line, &r))
		g.native[r.Reward] = r.Native
	}
	return g
}

func (g *golden) of(name string) []byte { return g.native[name] }

func (g *golden) put(name string, native []byte) {
	g.Lock()
	defer g.Unlock()
	g.native[name] = native
}

// write writes golden.jsonl in the order of the index.
func (g *golden) write(t *testing.T, all []specimen) {
	if !*update {
		return
	}
	var out bytes.Buffer
	for _, s := range all {
		if native := g.of(s.File); len(native) > 0 && s.Native != "unstable" {
			line, err := json.Marshal(recorded{s.File, native})
			require.NoError(t, err)
			out.Write(append(line, '\n'))
		}
	}
	require.NoError(t, os.WriteFile("golden.jsonl", out.Bytes(), 0o644))
}
