package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
)

// fake puts an engine for tests into the path, and returns the folder of its containers.
func fake(t *testing.T) string {
	dir, err := filepath.Abs("testdata")
	require.NoError(t, err)
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	at := t.TempDir()
	t.Setenv("FAKE", at)
	return at
}

// write makes the folder of a task.
func write(t *testing.T, files map[string]string) string {
	dir := filepath.Join(t.TempDir(), "compile")
	for name, text := range files {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o755))
	}
	return dir
}

// Promise: a task in a container has the same trial as on a machine: the verifier in another
// container with what the agent left, and nothing is left over.
func TestTrialInContainers(t *testing.T) {
	at := fake(t)
	tk, err := task.Load(write(t, map[string]string{
		"task.toml": "version = \"1.0\"\n[environment]\nallow_internet = false\nmemory_mb = 512\ncpus = 2\n", "instruction.md": "Compile it.", "environment/Dockerfile": "FROM gcc:14\nWORKDIR /app\n",
		"tests/test.sh": "grep -q done /app/out && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\necho seen > /app/tested\n", "solution/solve.sh": "echo done > /app/out\necho solved\n",
	}))
	require.NoError(t, err)
	e, err := Find(t.Context())
	require.NoError(t, err)
	p, err := trial.PrepareWith(t.Context(), tk, e.Build)
	require.NoError(t, err)
	for agent, want := range map[string]float64{trial.Oracle: 1, trial.Nop: 0} {
		r, err := p.Run(t.Context(), agent, time.Now)
		require.NoError(t, err)
		require.Nil(t, r.Failure)
		require.Equal(t, map[string]float64{"reward": want}, r.Rewards)
	}
	p.Close()
	calls, err := os.ReadFile(filepath.Join(at, "calls"))
	require.NoError(t, err)
	require.Contains(t, string(calls), "run -d --init --cpus 2 --memory 512m --network none merit-task-")
	left, err := filepath.Glob(filepath.Join(at, "[ci][0-9]*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Promise: files go into a container and come back, with modes and links; a box that is forked
// is another one; a command that takes too long is stopped.
func TestContainerBox(t *testing.T) {
	at := fake(t)
	require.NoError(t, os.MkdirAll(filepath.Join(at, "image/app"), 0o755))
	b := &containerBox{engine: &Engine{"docker"}}
	require.NoError(t, b.run(t.Context(), "image"))
	require.NoError(t, b.Write(box.File{Path: "/app/d", Mode: os.ModeDir | 0o755}, box.File{Path: "/app/d/x", Mode: 0o755, Data: []byte("1")}, box.File{Path: "/app/d/l", Mode: os.ModeSymlink | 0o777, Data: []byte("x")}))
	files, err := b.Files("/app/d")
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Path+" "+f.Mode.String()+" "+string(f.Data))
	}
	require.ElementsMatch(t, []string{"/app/d drwxr-xr-x ", "/app/d/x -rwxr-xr-x 1", "/app/d/l Lrwxrwxrwx x"}, names)
	f, err := b.Fork(t.Context())
	require.NoError(t, err)
	require.NoError(t, f.Remove("/app/d"))
	files, err = f.Files("/app/d")
	require.NoError(t, err)
	require.Empty(t, files)
	files, err = b.Files("/app/d/x")
	require.NoError(t, err)
	require.Len(t, files, 1)
	r := b.Run(t.Context(), box.Command{Args: []string{"bash", "-c", "echo $A; exit 3"}, Env: []string{"A=b"}, Dir: "/app"})
	require.Equal(t, "b\n", string(r.Output))
	require.Equal(t, 3, r.Status)
	require.NoError(t, r.Err)
	r = b.Run(t.Context(), box.Command{Args: []string{"sleep", "60"}, Dir: "/app", Timeout: time.Millisecond})
	require.Error(t, r.Err)
	require.NoError(t, f.Close())
	require.NoError(t, b.Close())
}

// Promise: without an engine the error says what was tried.
func TestNoEngine(t *testing.T) {
	at := fake(t)
	require.NoError(t, os.WriteFile(filepath.Join(at, "down"), nil, 0o644))
	_, err := Find(t.Context())
	require.ErrorContains(t, err, "docker info: Cannot connect to the daemon")
	require.True(t, strings.Contains(err.Error(), "podman"), err)
}
