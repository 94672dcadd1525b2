package fleet_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/sdk/merit"
)

// doomed is a worker that cannot start and reports why in its last line.
var doomed = []string{"/bin/sh", "-c", "echo hello >&2; echo the disk is gone >&2; exit 3"}

// Promise: a run whose worker processes all fail for good stops at once with their last
// message, and does not wait for workers that nobody starts.
func TestAllChildrenDead(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	cfg := config(t, sokoban)
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 2, Program: doomed})
	require.NoError(t, err)
	_, err = play(t.Context(), t, open(t, cfg), f, merit.TrainOptions{})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Crashed))
	require.ErrorContains(t, err, "all 2 worker processes on this machine crashed repeatedly")
	require.ErrorContains(t, err, "the disk is gone")
	require.NotContains(t, err.Error(), "hello")
	_, err = play(t.Context(), t, open(t, cfg), f, merit.TrainOptions{})
	require.ErrorContains(t, err, "the disk is gone", "who asks later hears it, too")
	require.NoError(t, f.Close())
}

// Promise: a worker that joined from outside keeps such a run going.
func TestOthersStandInForChildren(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	cfg := config(t, sokoban, "train.iterations=1")
	plain, err := play(t.Context(), t, open(t, cfg), nil, merit.TrainOptions{})
	require.NoError(t, err)
	var outside *exec.Cmd
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 1, Program: doomed, OnReady: func(j fleet.JoinInfo) {
		outside = outsider(t, j)
	}})
	require.NoError(t, err)
	got, err := play(t.Context(), t, open(t, cfg), f, merit.TrainOptions{})
	require.NoError(t, err)
	require.Equal(t, plain, got)
	require.NoError(t, outside.Process.Kill())
	require.NoError(t, f.Close())
}

// outsider is a worker process that is not restarted.
func outsider(t *testing.T, j fleet.JoinInfo) *exec.Cmd {
	seed, err := os.ReadFile(j.Key)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "fleet", "worker", "--join", j.URL, "--name", "outside")
	cmd.Env = append(os.Environ(), fleet.KeyVariable+"="+string(seed))
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // it lives as long as that
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}
