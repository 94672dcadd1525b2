package merit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

// Promise: a comparison shows the keys that differ, defaults included, and names
// every run that cannot be read.
func TestCompare(t *testing.T) {
	finished := func(config string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, run.ConfigFile), []byte(config), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, run.SummaryFile), []byte(`{"iterations": 3}`), 0o600))
		return dir
	}
	a := finished("seed: 1\nadvantage: {estimator: gigpo, gamma: 0.95}\n")
	b := finished("seed: 1\nadvantage: {estimator: grpo, gamma: 0.95}\nsave: {every: 2}\n")
	runs, keys, err := merit.Compare(a, b)
	require.NoError(t, err)
	require.Equal(t, []string{"advantage.estimator", "save.every"}, keys)
	require.Equal(t, map[string]string{"advantage.estimator": `"gigpo"`, "save.every": "500"}, runs[0].Config)
	require.Equal(t, map[string]string{"advantage.estimator": `"grpo"`, "save.every": "2"}, runs[1].Config)
	require.Equal(t, 3, runs[1].Summary.Iterations)

	_, keys, err = merit.Compare(a, a)
	require.NoError(t, err)
	require.Empty(t, keys)

	none, damaged := filepath.Join(a, "none"), finished("{")
	_, _, err = merit.Compare(none, a, damaged)
	require.ErrorContains(t, err, none)
	require.ErrorContains(t, err, filepath.Join(damaged, run.ConfigFile)+": is not a configuration")
}
