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

	"github.com/merit-rl/merit/core/table/columns"
	"github.com/merit-rl/merit/core/testneeds"
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
	folder := t.TempDir()
	cmd := exec.Command(testneeds.DataPython(t), filepath.Join("testdata", "peers.py"), folder)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	require.NoError(t, err)
	require.Greater(t, len(files), 15)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".parquet"), func(t *testing.T) {
			rows := all(t, open(t, path))
			want, err := os.Open(strings.TrimSuffix(path, ".parquet") + ".jsonl")
			require.NoError(t, err)
			defer want.Close()
			lines := bufio.NewScanner(want)
			for i, row := range rows {
				require.True(t, lines.Scan())
				require.Equal(t, value(t, lines.Text()), value(t, row), "row %d", i+1)
			}
			require.False(t, lines.Scan())
		})
	}
}
