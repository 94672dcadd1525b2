package machine

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

func userland(t testing.TB) *Userland { return limited(t, Limits{}) }

// limited loads a userland whose commands have limits.
func limited(t testing.TB, l Limits) *Userland {
	t.Helper()
	folder := interpreter.Folder()
	testneeds.File(t, "run: make interpreter", interpreter.Python().Userland().Path(folder))
	e, err := engine.New(engine.Options{CacheDir: filepath.Join(filepath.Dir(folder), "test"), CacheBytes: 2 << 30, Imports: engine.MachineImports()})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	u, err := Load(context.Background(), e, folder, l)
	require.NoError(t, err)
	t.Cleanup(u.Close)
	return u
}
