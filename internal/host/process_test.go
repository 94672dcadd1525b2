package host_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
)

// pid returns the process id that faulty reports.
func pid(t *testing.T, system string) int {
	t.Helper()
	id, err := strconv.Atoi(strings.SplitN(strings.TrimSpace(system), "\n", 2)[0])
	require.NoError(t, err)
	return id
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	}, soon, 5*time.Millisecond, "process %d lives on", pid)
}

// Promise: no plug-in outlives a host that was killed, and no socket is left behind.
func TestNoOrphan(t *testing.T) {
	temp := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostMode+"="+build(t, "./internal/host/testdata/faulty"), "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	plugin := pid(t, line)
	require.NoError(t, syscall.Kill(plugin, 0), "the plug-in lives")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	requireGone(t, plugin)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Promise: Close ends the process quickly and leaves nothing in TMPDIR, even if the
// plug-in hangs.
func TestClose(t *testing.T) {
	for _, mode := range []string{"behaves", "stops"} {
		temp := t.TempDir()
		t.Setenv("TMPDIR", temp)
		e := open(t, faulty(t, mode))
		id := pid(t, inside(e))
		if mode == "stops" {
			require.NoError(t, syscall.Kill(id, syscall.SIGSTOP))
		}
		began := time.Now()
		require.NoError(t, e.Close())
		require.Less(t, time.Since(began), soon)
		requireGone(t, id)
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// Promise: a long TMPDIR does not break sockets, whose paths are short.
func TestLongTempDir(t *testing.T) {
	temp := t.TempDir() + strings.Repeat("/a-rather-long-name", 8)
	require.NoError(t, os.MkdirAll(temp, 0o700))
	t.Setenv("TMPDIR", temp)
	require.NoError(t, open(t, faulty(t, "behaves")).Close())
}

// Promise: a plug-in inherits only the few variables that it needs.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	cfg := faulty(t, "behaves")
	cfg.Env = []string{"GREETING=hello"}
	var names []string
	for _, line := range strings.Split(inside(open(t, cfg)), "\n")[1:] {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"PATH", "TMPDIR", "GOMAXPROCS", "PYTHONUNBUFFERED", "GOMEMLIMIT", "GREETING",
		"MERIT_PLUGIN", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR",
	}, names)
}

// Promise: grandchildren die with the plug-in's group.
func TestNoGrandchild(t *testing.T) {
	err := misbehave(t, open(t, faulty(t, "leaves a grandchild")))
	require.Error(t, err)
	_, after, found := strings.Cut(err.Error(), "grandchild ")
	require.True(t, found, err)
	requireGone(t, pid(t, after))
}

// Promise: a flood of output on any stream neither slows a batch down to its deadline
// nor fills the memory.
func TestFlood(t *testing.T) {
	cfg := faulty(t, "floods")
	cfg.Limits.Output = 256 << 10
	e := open(t, cfg)
	require.NoError(t, misbehave(t, e))
	var r env.Reply
	for range 100 {
		require.NoError(t, e.Exchange(t.Context(), batch(e, env.Step), &r))
	}
	require.NoError(t, e.Close())
}
