package machine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

func userland(t testing.TB) *Userland { return limited(t, DefaultLimits()) }

// limited loads a userland whose commands have limits.
func limited(t testing.TB, l Limits) *Userland {
	t.Helper()
	wasm, err := os.ReadFile(os.Getenv("U"))
	if err != nil {
		t.Skip("U names no module")
	}
	e, err := engine.New(engine.Options{CacheDir: "/tmp/ucache", CacheBytes: 1 << 30, Imports: engine.MachineImports()})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	by := Python{interpreter.Python().In(interpreter.Folder()), interpreter.Folder(), packages(t, os.Getenv("P"))}
	u, err := Load(context.Background(), e, engine.Bytes(wasm), l, &by)
	require.NoError(t, err)
	t.Cleanup(u.Close)
	return u
}

func TestScratch(t *testing.T) {
	u := userland(t)
	m := u.New()
	text, err := os.ReadFile(os.Getenv("S"))
	if err != nil {
		t.Skip()
	}
	at := time.Now()
	r := m.Run(context.Background(), Command{Args: []string{"bash", "-c", string(text)}, Env: []string{"PATH=/usr/bin:/bin", "HOME=/root"}, Dir: "/root"})
	t.Logf("status %d err %v fuel %d %v\n%s%s", r.Status, r.Err, r.Fuel, time.Since(at), r.Output, r.Errors)
}

// packages reads the pure packages in a folder.
func packages(t testing.TB, dir string) map[string][]byte {
	files := map[string][]byte{}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) == ".pyc" {
			return nil
		}
		name, _ := filepath.Rel(dir, p)
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		files[filepath.ToSlash(name)] = data
		return nil
	})
	return files
}
