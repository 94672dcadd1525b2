package interpreter_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

var (
	allFiles = flag.Bool("all-files", false, "run all files of the packages' own tests, not only those of CI: half an hour")
	update   = flag.Bool("update", false, "write what passes now to build/suite/results.tsv")
)

const (
	results  = "build/suite/results.tsv"
	excluded = "build/suite/excluded.tsv"
)

// Promise: the own tests of numpy, regex, bz2, lzma and sqlite3 pass in the sandbox, apart from those that are
// excluded for the reason in excluded.tsv, as results.tsv says.
func TestSuites(t *testing.T) {
	testneeds.Slow(t, "runs numpy's own tests")
	if len(interpreter.Python().Includes) == 0 {
		t.Skip("the installed interpreter lacks numpy and regex: run make interpreter")
	}
	folder := testneeds.File(t, "run: sandbox/interpreter/build/suite/suite.sh .ci/tools/suites", filepath.Join(testneeds.Root(), ".ci", "tools", "suites"))
	suite := loadSuite(t, folder)
	without := map[string]string{}
	for _, row := range rows(t, excluded) {
		file, _, _ := strings.Cut(row[0], "::")
		without[file] += "\n" + row[0]
	}
	table := rows(t, results)
	for _, row := range table {
		if row[1] != "ci" && !*allFiles {
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			got := runFile(t, suite, row[0], without[row[0]])
			if *update {
				copy(row[2:], got)
			}
			require.Equal(t, row[2:5], got, "passed, skipped, expected to fail")
		})
	}
	if *update {
		write(t, results, table)
	}
}

func loadSuite(t *testing.T, folder string) *sandbox.Module {
	config := sandbox.DefaultConfig()
	config.Fuel, config.MemoryMiB, config.WallClock = 1e14, 2048, time.Hour
	config.CacheDir = filepath.Join(filepath.Dir(interpreter.Folder()), "test")
	runtime, err := sandbox.New(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = runtime.Close(context.Background()) })
	module, err := runtime.LoadFile(context.Background(), folder)
	require.NoError(t, err)
	return module
}

// runFile runs the tests of a file, and returns how many passed, were skipped by
// themselves, and failed as their authors expect.
func runFile(t *testing.T, suite *sandbox.Module, file, without string) []string {
	x := &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text(file + without)}}}
	e := suite.Evaluate(context.Background(), x)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	var found struct {
		Counts   map[string]json.Number
		Failures map[string]string
		Printed  string
	}
	require.NoError(t, json.Unmarshal([]byte(e.Result.Reason), &found))
	require.Empty(t, found.Failures)
	require.Empty(t, found.Printed)
	counts := make([]string, 0, 3)
	for _, outcome := range []string{"passed", "skipped", "xfailed"} {
		n := found.Counts[outcome].String()
		if n == "" {
			n = "0"
		}
		counts = append(counts, n)
	}
	return counts
}

// rows reads a table whose first line names the columns.
func rows(t *testing.T, name string) (table [][]string) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		table = append(table, strings.Split(line, "\t"))
	}
	return table
}

func write(t *testing.T, name string, table [][]string) {
	text := "file\twhere\tpassed\tskipped\txfailed\n"
	for _, row := range table {
		text += strings.Join(row, "\t") + "\n"
	}
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}
