package fleet_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/sdk/merit"
)

// Promise: a process reads its key from a file that nobody else may read, or from the variable.
// The error for a file that others may read tells how to fix it.
func TestCredentials(t *testing.T) {
	testneeds.NotShort(t)
	seed, _, err := natsd.NewKey()
	require.NoError(t, err)
	env := map[string]string{}
	file := filepath.Join(t.TempDir(), "worker.key")
	read := func(path string) ([]byte, error) {
		got, _, err := fleet.Credentials(fleet.Config{Key: path}, func(name string) string { return env[name] })
		return got, err
	}
	require.NoError(t, natsd.WriteSeed(file, seed))
	got, err := read(file)
	require.NoError(t, err)
	require.Equal(t, seed, got)
	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o644, 0o604, 0o620} {
			require.NoError(t, os.Chmod(file, mode))
			_, err = read(file)
			require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
			require.Contains(t, fault.As(err).Hint, "chmod 600 "+file)
		}
	}
	_, err = read(file + ".none")
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Missing))
	got, err = read("")
	require.NoError(t, err)
	require.Nil(t, got)
	env[fleet.KeyVariable] = string(seed) + "\n"
	got, err = read("")
	require.NoError(t, err)
	require.Equal(t, seed, got)
	env[fleet.KeyVariable] = "no seed"
	_, err = read("")
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Invalid))
	require.NotContains(t, err.Error(), "no seed")
}

// Promise: a worker gives a job only the variables that it was told to give. It refuses a job
// that wants others before it runs anything, and names them.
func TestLentVariables(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("LEVELS_KEY", "a secret")
	cfg := config(t, sokoban, "environment.pass_env=[LEVELS_KEY]")
	_, err := play(t.Context(), t, open(t, cfg), local(t, 1, nil), merit.TrainOptions{})
	require.ErrorContains(t, err, "the environment variables LEVELS_KEY")
	require.ErrorContains(t, err, "--pass-env")

	for names, why := range map[string]string{fleet.KeyVariable: "own key", "A=b": "not the name of a variable", "": "not the name of a variable"} {
		err := fleet.Work(t.Context(), fleet.WorkOptions{Join: "nats://127.0.0.1:1", Grants: fleet.Grants{Variables: []string{names}}})
		require.ErrorIs(t, err, fault.Of(fault.CLI, fault.Invalid))
		require.ErrorContains(t, err, why)
	}
}
