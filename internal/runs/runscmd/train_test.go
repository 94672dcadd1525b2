package runscmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Promise: the command to resume a stopped run over traces finds the same traces again, and
// shows no password.
func TestAdviceNamesTheStore(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, run.ManifestFile), fmt.Appendf(nil, `{"format": %d}`, run.Format), 0o600))
	for store, end := range map[string]string{
		"":                              "--out " + out,
		"my traces.db":                  "--store 'my traces.db'",
		"postgres://me:hunter2@db/runs": "--store postgres://me:xxxxx@db/runs",
	} {
		o := &trainOptions{Store: store}
		o.Out = out
		err := o.advise(&fault.Error{Boundary: fault.CLI, Kind: fault.Interrupted, What: "stopped"})
		require.True(t, strings.HasSuffix(fault.As(err).Hint, end), fault.As(err).Hint)
		require.NotContains(t, fault.As(err).Hint, "hunter2")
	}
}
