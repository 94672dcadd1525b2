package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
)

// hostMode makes this test binary a host that opens the plug-in of the variable and
// waits to be killed.
const hostMode = "MERIT_TEST_HOST"

var binaries string

func TestMain(m *testing.M) {
	if path := os.Getenv(hostMode); path != "" {
		beHost(path)
	}
	dir, err := os.MkdirTemp("", "merit-host-test-")
	if err != nil {
		panic(err)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func beHost(path string) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Args = path, []string{"behaves"}
	e, err := host.Open(context.Background(), cfg)
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.SplitN(inside(e), "\n", 2)[0])
	time.Sleep(time.Hour)
}

// inside returns what faulty reports about itself: its process id, then its variables.
func inside(e env.Env) string {
	text, err := e.(env.Renderer).Render(context.Background(), 0)
	if err != nil {
		panic(err)
	}
	return text
}

// build compiles a plug-in once.
func build(t testing.TB, pkg string) string {
	t.Helper()
	testneeds.NotShort(t)
	once, _ := builds.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		path := filepath.Join(binaries, filepath.Base(pkg))
		cmd := exec.Command("go", "build", "-o", path, pkg)
		cmd.Dir = testneeds.Root()
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.New(string(out))
		}
		return path, nil
	}))
	path, err := once.(func() (string, error))()
	require.NoError(t, err)
	return path
}

var builds sync.Map // package → func() (path, error)

// soon is enough for everything that ends, even on a very busy machine. Only what waits
// forever exceeds hangs.
const (
	soon  = 5 * time.Minute
	hangs = 2 * time.Second
)

func faulty(t testing.TB, mode string) host.Config {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Args = build(t, "./internal/host/testdata/faulty"), []string{mode}
	cfg.Slots = 3
	cfg.StartTimeout, cfg.BatchDeadline, cfg.ResetDeadline = soon, soon, soon
	return cfg
}

func sokoban(t testing.TB, slots int) host.Config {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./plugins/sokoban"), slots
	cfg.StartTimeout, cfg.BatchDeadline, cfg.ResetDeadline = soon, soon, soon
	return cfg
}

func open(t testing.TB, cfg host.Config) env.Env {
	t.Helper()
	e, err := host.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// batch has one operation for all slots.
func batch(e env.Env, op env.Op) *env.Batch {
	b := env.NewBatch(e.Spec())
	for i := range b.Ops {
		b.Ops[i] = op
	}
	return b
}

// misbehave resets e, which works, and steps it, which does not.
func misbehave(t *testing.T, e env.Env) error {
	t.Helper()
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	return e.Exchange(t.Context(), batch(e, env.Step), &r)
}
