package doctor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/doctor"
)

// Promise: doctor reports what the machine lacks, with how to get it, and a missing program for one
// feature does not affect the others.
func TestBareMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("MERIT_HOME", t.TempDir())
	t.Setenv("MERIT_PLUGIN_PYTHON", "")
	cache := filepath.Join(t.TempDir(), "cache")
	states := map[string]doctor.State{}
	for _, c := range doctor.Checks(cache) {
		f := c.Run(t.Context())
		states[f.What] = f.State
		require.NotEmpty(t, f.Found, f.What)
		require.Equal(t, f.State != doctor.OK, f.Fix != "", "%s: %s %q", f.What, f.State, f.Fix)
	}
	for _, what := range []string{"CPython 3.12.0", "QuickJS-NG", "userland", "Go to WebAssembly", "C to WebAssembly", "AssemblyScript to WebAssembly", "Python with grpcio"} {
		require.Equal(t, doctor.Missing, states[what], what)
	}
	require.Equal(t, doctor.OK, states["processors"])
	require.Equal(t, doctor.OK, states["cache"])
}

// Promise: a cache that cannot be written makes Merit slower, not unusable.
func TestCacheThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for folder, want := range map[string]doctor.State{filepath.Join(file, "cache"): doctor.Slower, "": doctor.Slower, t.TempDir(): doctor.OK} {
		for _, c := range doctor.Checks(folder) {
			if c.What == "cache" {
				require.Equal(t, want, c.Run(t.Context()).State, folder)
			}
		}
	}
}
