package fleets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/merit"
	"github.com/merit-rl/merit/sdk/merit/fleets"
)

// Promise: worker processes that a coordinator starts beside a server of its own
// play the bytes that it plays itself, and what they said was verified.
func TestEmbedded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cfg := config(t, sokoban, "fleet.groups=2", "fleet.verify=0.2")
	plain, err := play(t.Context(), t, open(t, cfg), nil, merit.TrainOptions{})
	require.NoError(t, err)
	f, err := fleets.Open(t.Context(), fleets.Embedded, cfg, fleets.OpenOptions{Workers: 2})
	require.NoError(t, err)
	got, err := play(t.Context(), t, open(t, cfg), f, merit.TrainOptions{})
	require.NoError(t, err)
	require.Equal(t, plain, got)
	report := f.Report()
	require.Positive(t, report.Checked)
	require.Zero(t, report.Differed)
	require.NoError(t, f.Close())
}
