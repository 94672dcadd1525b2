package python_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

var update = flag.Bool("update", false, "write docs/reference/python anew")

// Promise: the reference of the Python package is what its docstrings say.
func TestReferenceIsUpToDate(t *testing.T) {
	python, out := testneeds.Python(t), t.TempDir()
	pages := filepath.Join(testneeds.Root(), "docs", "reference", "python")
	if *update {
		require.NoError(t, os.RemoveAll(pages))
		require.NoError(t, os.MkdirAll(pages, 0o755))
		out = pages
	}
	script := filepath.Join(testneeds.Root(), ".ci", "docs", "python_reference.py")
	text, err := exec.Command(python, script, ".", out).CombinedOutput()
	require.NoError(t, err, string(text))
	want, err := os.ReadDir(out)
	require.NoError(t, err)
	got, err := os.ReadDir(pages)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for _, f := range want {
		a, err := os.ReadFile(filepath.Join(out, f.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(pages, f.Name()))
		require.NoError(t, err, "run go test ./sdk/python -run TestReference -update")
		require.Equal(t, string(a), string(b), "%s is stale: run go test ./sdk/python -run TestReference -update", f.Name())
	}
}
