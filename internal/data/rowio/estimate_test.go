package rowio_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/rowio"
)

// Promise: rows come back with their credit, or nothing is written and the
// error says why.
func TestEstimate(t *testing.T) {
	rows := `{"group":"g","trajectory":"a","step":0,"observation":"start","reward":1,"episode_score":1}
{"group":"g","trajectory":"b","step":0,"observation":"start","reward":0,"episode_score":0}
`
	cfg := advantage.Default()
	cfg.Estimator = "grpo"
	var out bytes.Buffer
	stats, err := rowio.Estimate(cfg, "rows.jsonl", strings.NewReader(rows), &out)
	require.NoError(t, err)
	require.Equal(t, 2, stats.Rows)
	require.Contains(t, out.String(), `"advantage":0.5`)
	require.Contains(t, out.String(), `"advantage":-0.5`)

	out.Reset()
	_, err = rowio.Estimate(cfg, "rows.jsonl", strings.NewReader(rows+"{}\n"), &out)
	require.ErrorContains(t, err, "line 3: group is missing")
	cfg.Estimator = "gae"
	_, err = rowio.Estimate(cfg, "rows.jsonl", strings.NewReader(rows), &out)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
	require.ErrorContains(t, err, "value")
	require.Empty(t, out.String())
}
