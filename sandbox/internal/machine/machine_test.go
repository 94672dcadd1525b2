package machine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	wire "github.com/merit-rl/merit/internal/wire/machine"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

func userland(t testing.TB) *Userland { return limited(t, wire.Limits{}) }

// limited loads a userland whose commands have limits.
func limited(t testing.TB, l wire.Limits) *Userland {
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

func TestScratch(t *testing.T) {
	u := userland(t)
	m := u.new()
	text, err := os.ReadFile(os.Getenv("S"))
	if err != nil {
		t.Skip()
	}
	at := time.Now()
	r := m.Run(context.Background(), wire.Command{Args: []string{"bash", "-c", string(text)}, Env: []string{"PATH=/usr/bin:/bin", "HOME=/root"}, Dir: "/root"})
	t.Logf("status %d err %v fuel %d %v\n%s%s", r.Status, r.Reason, r.Fuel, time.Since(at), r.Output, r.Errors)
}
