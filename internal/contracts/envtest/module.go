package envtest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host/gomodule"
)

// Module builds the environment in a folder of the repository as a WebAssembly module.
func Module(t testing.TB, folder string) string {
	t.Helper()
	testneeds.NotShort(t)
	file := filepath.Join(t.TempDir(), filepath.Base(folder)+".wasm")
	require.NoError(t, gomodule.Build(t.Context(), filepath.Join(testneeds.Root(), folder), file))
	return file
}
