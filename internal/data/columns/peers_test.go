package columns_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/columns"
)

// open opens the Parquet file at path.
func open(t testing.TB, path string) *columns.File {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	file, err := columns.Open(filepath.Base(path), f, info.Size())
	require.NoError(t, err)
	t.Cleanup(func() { file.Close(); f.Close() })
	return file
}

// all returns the rows of a file that has none that is wrong.
func all(t testing.TB, f *columns.File) (rows []string) {
	t.Helper()
	for {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			require.EqualValues(t, f.Rows(), len(rows))
			return rows
		}
		require.NoError(t, err)
		require.NoError(t, row.Err)
		require.Equal(t, len(rows)+1, row.Number)
		rows = append(rows, string(row.Text))
	}
}

// value is text as Go has it, numbers as they are written.
func value(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), "%s", text)
	return v
}

// Promise: files as pyarrow, pandas and datasets write them are read with every
// value that Python sees in them: nested types, each width of number, nulls,
// dictionaries, every codec, both versions of pages and every encoding.
func TestPeersFilesAreRead(t *testing.T) {
	requireRead(t, 16, "peers.py")
}

// Promise: so are 80 random tables in random forms: nested in each other to
// four levels, nulls and empty lists, every type of pyarrow, encodings chosen
// for each column, dictionaries that end within it, pages of a few bytes.
func TestRandomFilesAreRead(t *testing.T) {
	requireRead(t, 80, "anything.py", "0", "79")
}

// requireRead reads the files that a script writes into a folder, at least as
// many, and holds them to the rows beside them.
func requireRead(t *testing.T, least int, script string, args ...string) {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command(testneeds.DataPython(t), append([]string{filepath.Join("testdata", script), folder}, args...)...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), least)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".parquet"), func(t *testing.T) {
			rows := all(t, open(t, path))
			want, err := os.Open(strings.TrimSuffix(path, ".parquet") + ".jsonl")
			require.NoError(t, err)
			defer want.Close()
			lines := bufio.NewScanner(want)
			lines.Buffer(nil, 1<<20)
			for i, row := range rows {
				require.True(t, lines.Scan())
				require.Equal(t, value(t, lines.Text()), value(t, row), "row %d", i+1)
			}
			require.False(t, lines.Scan())
		})
	}
}
