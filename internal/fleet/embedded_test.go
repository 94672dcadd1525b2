package fleet_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/telemetry/outlets"
	"github.com/merit-rl/merit/sdk/merit"
)

// Promise: worker processes that a coordinator starts for its embedded server play the same
// bytes as the coordinator itself. Their results are verified, metrics show them, and they get
// the variables that the configuration names.
func TestEmbedded(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("LEVELS_KEY", "a secret of the user")
	cfg := config(t, sokoban, "fleet.groups=2", "fleet.verify=0.2", "environment.pass_env=[LEVELS_KEY]")
	plain, err := play(t.Context(), t, open(t, cfg), nil, merit.TrainOptions{})
	require.NoError(t, err)
	f, err := fleet.Open(t.Context(), fleet.Embedded, cfg, fleet.OpenOptions{Workers: 2})
	require.NoError(t, err)
	got, err := play(t.Context(), t, open(t, cfg), f, merit.TrainOptions{})
	require.NoError(t, err)
	require.Equal(t, plain, got)
	report := f.Report()
	require.Positive(t, report.Checked)
	require.Zero(t, report.Differed)

	watch, err := outlets.Open(outlets.Options{Metrics: "127.0.0.1:0"})
	require.NoError(t, err)
	defer watch.Close()
	require.NoError(t, watch.Also(f.Gauges()))
	answer, err := http.Get(watch.URL())
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	for _, line := range []string{"merit_fleet_up 1", `merit_fleet_workers{build="same"} 2`, `merit_fleet_queue_waiting{label="any"} 0`, fmt.Sprintf("merit_fleet_verified_total %d", report.Checked)} {
		require.Contains(t, string(text), "\n"+line+"\n")
	}
	require.NoError(t, f.Close())
}
