//go:build unix

package runspage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/runs/runspage"
)

// Promise: a run whose directory contains a pipe, or whose iterations are missing, is listed
// with its problem and does not block other runs.
func TestDamagedRunsAreListed(t *testing.T) {
	dir := t.TempDir()
	for name, summary := range map[string]bool{"pipe": true, "empty": true, "begun": false} {
		place := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(place, 0o755))
		for _, file := range []string{run.ManifestFile, run.ConfigFile} {
			require.NoError(t, os.WriteFile(filepath.Join(place, file), []byte("{}"), 0o600))
		}
		if summary {
			require.NoError(t, os.WriteFile(filepath.Join(place, run.SummaryFile), []byte("{}"), 0o600))
		}
	}
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe", run.MetricsFile), 0o600))
	rows, err := runspage.List(dir)
	require.NoError(t, err)
	problems := map[string]string{}
	for _, r := range rows {
		problems[r.ID] = r.Problem
	}
	require.Len(t, problems, 3)
	require.Contains(t, problems["pipe"], "metrics.jsonl: is not a regular file")
	require.Contains(t, problems["empty"], "has no iteration")
	require.Empty(t, problems["begun"])
}
