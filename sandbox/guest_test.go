package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

var guests = struct {
	sync.Mutex
	built map[string][]byte
}{built: map[string][]byte{}}

// goGuest builds a Go reward of this repository once per test binary.
func goGuest(t testing.TB, pkg string, args ...string) []byte {
	t.Helper()
	guests.Lock()
	defer guests.Unlock()
	if wasm, ok := guests.built[pkg]; ok {
		return wasm
	}
	watch(t, "sdk/reward")
	watch(t, pkg)
	out := filepath.Join(t.TempDir(), "guest.wasm")
	if len(args) == 0 {
		args = []string{"-buildmode=c-shared"}
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, args...), "./"+pkg)...)
	cmd.Dir = testneeds.Root()
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	wasm, err := os.ReadFile(out)
	require.NoError(t, err)
	guests.built[pkg] = wasm
	return wasm
}

// watch tells the test cache which sources a guest is built from: it knows of
// files that a test looks at itself.
func watch(t testing.TB, dir string) {
	require.NoError(t, filepath.WalkDir(filepath.Join(testneeds.Root(), dir), func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			_, err = os.Stat(path)
		}
		return err
	}))
}

// hostileFuel is the budget of the tables of hostile scripts. It decides which of
// their limits a script meets first; the default is eight times as much, which
// honest mathematics needs and an endless loop would use up.
const hostileFuel = 500_000_000

// newRuntime returns a runtime that the test closes.
func newRuntime(t testing.TB, change ...func(*sandbox.Config)) *sandbox.Runtime {
	t.Helper()
	testneeds.NotShort(t)
	cfg := sandbox.DefaultConfig()
	cfg.WallClock = soon // fuel ends what is to end, however busy the machine is
	for _, f := range change {
		f(&cfg)
	}
	r, err := sandbox.New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

func load(t testing.TB, r *sandbox.Runtime, wasm []byte) *sandbox.Module {
	t.Helper()
	m, err := r.Load(context.Background(), "test", wasm)
	require.NoError(t, err)
	return m
}
