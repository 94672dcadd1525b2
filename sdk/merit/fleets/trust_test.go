package fleets_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/core/fleet/keys"
	"github.com/merit-rl/merit/sdk/merit/fleets"
)

// Promise: whoever comes to a fleet takes its key from a file that nobody else may
// read, or from the variable, and is told how to mend a file that others may.
func TestCredentials(t *testing.T) {
	seed, _, err := keys.New()
	require.NoError(t, err)
	env := map[string]string{}
	file := filepath.Join(t.TempDir(), "worker.key")
	read := func(path string) ([]byte, error) {
		got, _, err := fleets.Credentials(fleet.Config{Key: path}, func(name string) string { return env[name] })
		return got, err
	}
	require.NoError(t, keys.WriteSeed(file, seed))
	got, err := read(file)
	require.NoError(t, err)
	require.Equal(t, seed, got)
	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
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
	env[fleets.KeyVariable] = string(seed) + "\n"
	got, err = read("")
	require.NoError(t, err)
	require.Equal(t, seed, got)
	env[fleets.KeyVariable] = "no seed"
	_, err = read("")
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Invalid))
	require.NotContains(t, err.Error(), "no seed")
}
