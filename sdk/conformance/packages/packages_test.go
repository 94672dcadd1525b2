// Package packages_test holds the packages that docs/python.md lists to what they do
// natively: each is added to a reward as a user adds it, and the reward runs in the sandbox.
package packages_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

var update = flag.Bool("update", false, "write the table of docs/python.md")

// entry is one package of index.yaml, which says what the fields mean.
type entry struct {
	Package, Reward, Use string
	Rows                 [][2]any
}

func (e entry) name() string {
	if e.Reward != "" {
		return e.Reward
	}
	name, _, _ := strings.Cut(e.Package, "==")
	return name
}

func index(t *testing.T) (all []entry) {
	text, err := os.ReadFile("index.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(text, &all, yaml.Strict()))
	return all
}

// native returns the scores that record.py recorded, by package.
func native(t *testing.T) map[string][]float64 {
	text, err := os.ReadFile("golden.jsonl")
	require.NoError(t, err)
	scores := map[string][]float64{}
	for line := range bytes.Lines(text) {
		var r struct {
			Package string
			Scores  []float64
		}
		require.NoError(t, json.Unmarshal(line, &r))
		scores[r.Package] = r.Scores
	}
	return scores
}

// Promise: a reward with a listed package, added by `merit reward add` as published, has
// the score in the sandbox that it has natively.
func TestPackages(t *testing.T) {
	testneeds.Slow(t, "downloads packages and starts interpreters")
	if interpreter.Python().Lacks() != "" {
		t.Skip("the installed interpreter lacks numpy, on which some packages depend: run make interpreter")
	}
	golden := native(t)
	merit := testneeds.Merit(t)
	for _, e := range index(t) {
		t.Run(e.Package, func(t *testing.T) {
			t.Parallel()
			folder := e.folder(t)
			run(t, merit, "reward", "add", "--reward", folder, e.Package)
			require.Len(t, golden[e.Package], len(e.Rows), "run record.py")
			require.InDeltaSlice(t, golden[e.Package], e.scores(t, merit, folder), 1e-12)
		})
	}
}

// folder writes the reward and its data.
func (e entry) folder(t *testing.T) string {
	folder := filepath.Join(t.TempDir(), "reward")
	require.NoError(t, os.Mkdir(folder, 0o755))
	text, err := os.ReadFile(filepath.Join("rewards", e.name()+".py"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "reward.py"), text, 0o644))
	return folder
}

// scores runs merit eval over the rows.
func (e entry) scores(t *testing.T, merit, folder string) (scores []float64) {
	data, out := filepath.Join(t.TempDir(), "data.jsonl"), filepath.Join(t.TempDir(), "out.jsonl")
	var lines bytes.Buffer
	for i, row := range e.Rows {
		message := func(role string, text any) map[string]any { return map[string]any{"role": role, "content": text} }
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint("r", i), "messages": []any{message("user", "?"), message("assistant", row[0])}, "ground_truth": row[1]})
		require.NoError(t, err)
		lines.Write(append(line, '\n'))
	}
	require.NoError(t, os.WriteFile(data, lines.Bytes(), 0o644))
	run(t, merit, "eval", "--reward", folder, "--data", data, "--out", out)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		var r struct {
			Score  *float64
			Reason string
		}
		require.NoError(t, json.Unmarshal(line, &r))
		require.NotNil(t, r.Score, r.Reason)
		scores = append(scores, *r.Score)
	}
	return scores
}

func run(t *testing.T, merit string, args ...string) {
	text, err := exec.Command(merit, args...).CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// Promise: the table of docs/python.md lists what TestPackages runs.
func TestTable(t *testing.T) {
	path := filepath.Join(testneeds.Root(), "docs", "python.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const begin, end = "<!-- packages -->\n", "<!-- /packages -->"
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := head + begin + table(index(t)) + end + tail
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run: go test ./sdk/conformance/packages -run TestTable -update")
}

func table(all []entry) string {
	var b strings.Builder
	b.WriteString("| package | used for |\n|---|---|\n")
	for _, e := range all {
		name, version, _ := strings.Cut(e.Package, "==")
		fmt.Fprintf(&b, "| %s %s | %s |\n", name, version, e.Use)
	}
	return b.String()
}
