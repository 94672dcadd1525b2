package interchange_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/interchange"
)

// reader returns a function that opens the files of fsys.
func reader(fsys fs.FS) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) { return fs.ReadFile(fsys, path) }
}

func read(t *testing.T, text []byte, fsys fs.FS) (*rl.Trajectory, []string) {
	t.Helper()
	notes := new(interchange.Notes)
	got, err := interchange.ReadATIF(text, reader(fsys), notes)
	require.NoError(t, err)
	require.NoError(t, got.Check())
	return got, notes.Lines()
}

// Promise: what was read from ATIF is written as the same documents, in version 1.7.
func TestATIFDocumentsStaySame(t *testing.T) {
	paths, err := filepath.Glob("testdata/atif/*.json")
	require.NoError(t, err)
	if more := os.Getenv("MERIT_ATIF"); more != "" { // trajectories of one's own
		extra, err := filepath.Glob(more)
		require.NoError(t, err)
		paths = append(paths, extra...)
	}
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		folder := os.DirFS(filepath.Dir(path))
		got, _ := read(t, text, folder)
		docs, err := interchange.WriteATIF(got)
		require.NoError(t, err, path)
		require.JSONEq(t, upgraded(t, text), string(docs[0].Text), path)
		for _, d := range docs[1:] {
			was, err := fs.ReadFile(folder, d.Path)
			require.NoError(t, err, path)
			require.JSONEq(t, upgraded(t, was), string(d.Text), d.Path)
		}
		again := fstest.MapFS{}
		for _, d := range docs[1:] {
			again[d.Path] = &fstest.MapFile{Data: d.Text}
		}
		second, _ := read(t, docs[0].Text, again)
		require.Equal(t, text0(t, got), text0(t, second), path)
	}
}

func text0(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// upgraded returns a document that says that it is of version 1.7.
func upgraded(t *testing.T, text []byte) string {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(text, &doc))
	doc["schema_version"] = "ATIF-v1.7"
	return text0(t, doc)
}
