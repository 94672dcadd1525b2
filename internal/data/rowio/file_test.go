package rowio_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/data/rowio"
)

// convert writes lines of JSON to a file of the format that name ends in.
func convert(t *testing.T, name, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	out, err := jsonl.Create(path, nil)
	require.NoError(t, err)
	_, err = out.Write([]byte(lines))
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return path
}

func estimate(t *testing.T, path string) (string, error) {
	t.Helper()
	in, err := jsonl.Open(path, nil)
	require.NoError(t, err)
	defer in.Close()
	var out bytes.Buffer
	_, err = rowio.EstimateFile(advantage.Default(), in, &out)
	return out.String(), err
}

// Promise: rows of every format have the same credit, and those that are wrong
// are named.
func TestFormats(t *testing.T) {
	const rows = `{"group":"g","trajectory":"a","step":0,"observation":"start, \"x\"","reward":0.0,"episode_score":1.0,"terminated":false,"note":"n"}
{"group":"g","trajectory":"a","step":1,"observation":"next","reward":1.0,"episode_score":1.0,"terminated":true,"note":"n"}
{"group":"g","trajectory":"b","step":0,"observation":"start, \"x\"","reward":0.0,"episode_score":0.5,"terminated":true,"note":"7"}
`
	want, err := estimate(t, convert(t, "rows.jsonl", rows))
	require.NoError(t, err)
	require.Contains(t, want, `"advantage":`)
	for _, name := range []string{"rows.parquet", "rows.csv", "rows.tsv.gz"} {
		got, err := estimate(t, convert(t, name, rows))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		for i, line := range strings.Split(strings.TrimSpace(want), "\n") {
			require.JSONEq(t, line, lines[i], name)
		}
	}
	_, err = estimate(t, convert(t, "rows.csv", strings.Replace(rows, `"step":1`, `"step":"x"`, 1)))
	require.ErrorContains(t, err, "line 2: ")
}
