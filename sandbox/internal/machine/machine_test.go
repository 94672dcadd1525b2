package machine

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

func userland(t *testing.T) *Userland {
	t.Helper()
	wasm, err := os.ReadFile(os.Getenv("U"))
	if err != nil {
		t.Skip("U names no module")
	}
	e, err := engine.New(engine.Options{CacheDir: "/tmp/ucache", CacheBytes: 1 << 30, Imports: engine.MachineImports()})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	by := interpreter.Python().In(interpreter.Folder())
	u, err := Load(context.Background(), e, engine.Bytes(wasm), DefaultLimits(), &by, interpreter.Folder())
	require.NoError(t, err)
	t.Cleanup(u.Close)
	return u
}

func TestScratch(t *testing.T) {
	u := userland(t)
	m, err := u.New()
	require.NoError(t, err)
	text, err := os.ReadFile(os.Getenv("S"))
	if err != nil {
		t.Skip()
	}
	at := time.Now()
	r := m.Run(context.Background(), Command{Args: []string{"bash", "-c", string(text)}, Env: []string{"PATH=/usr/bin:/bin", "HOME=/root"}, Dir: "/root"})
	t.Logf("status %d err %v fuel %d %v\n%s%s", r.Status, r.Err, r.Fuel, time.Since(at), r.Output, r.Errors)
}
