package process

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// script runs a shell script as a plug-in process and returns its output.
func script(t *testing.T, limits Limits, text string) (*Process, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	out := NewOutput(nil, "script", 0, nil)
	p := New(exec.Command(path), limits, out)
	require.NoError(t, p.Start(t.Context()))
	first, err := io.ReadAll(p.Stdout())
	require.NoError(t, err)
	<-p.Exited
	p.Close()
	return p, string(first) + out.Tail()
}

// Promise: limits apply from the first instruction of a plug-in, and to its children
// too.
func TestLimits(t *testing.T) {
	limits := Limits{Memory: 512 << 20, Files: 77, CPU: 1, CPUTime: 1500 * time.Millisecond}
	for range 10 {
		_, said := script(t, limits, `sh -c 'echo $(ulimit -n) $(ulimit -d) $(ulimit -t) $(ulimit -c) $(nproc)'`)
		require.Equal(t, "77 524288 2 0 1", strings.TrimSpace(said))
	}
	_, said := script(t, Limits{}, `echo $(ulimit -t) $(ulimit -d)`)
	require.Equal(t, "unlimited unlimited", strings.TrimSpace(said))
}

// Promise: the kernel kills a process that has used up its CPU time, and the host can
// tell that this was the cause.
func TestCPUTime(t *testing.T) {
	testneeds.NotShort(t)
	p, _ := script(t, Limits{CPUTime: time.Second}, `while :; do :; done`)
	require.Contains(t, p.State.String(), "killed")
	require.True(t, p.UsedUp(), "%v user, %v system", p.State.UserTime(), p.State.SystemTime())
	p, _ = script(t, Limits{CPUTime: time.Second}, `kill -9 $$`)
	require.False(t, p.UsedUp())
}
