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

// Promise: tigpo takes whole numbers from 0 as iterations, and null or nothing as none; what is
// anything else is an error with its line. Other estimators do not read the field.
func TestIterations(t *testing.T) {
	cfg := advantage.Default()
	estimate := func(iteration string) error {
		rows := `{"group":"g","trajectory":"a","step":0,"observation":"s","reward":1,"episode_score":1}` + "\n" +
			`{"group":"h","trajectory":"b","step":0,"observation":"s","reward":0,"episode_score":0,"iteration":` + iteration + "}\n"
		_, err := rowio.Estimate(cfg, "rows.jsonl", strings.NewReader(rows), new(bytes.Buffer))
		return err
	}
	for _, estimator := range []string{"tigpo", "gigpo"} {
		cfg.Estimator = estimator
		for _, right := range []string{"0", "7", "2.0", "null"} {
			require.NoError(t, estimate(right))
		}
		for _, wrong := range []string{"-1", "1.5", `"3"`, "4294967296", "[]", "true"} {
			if err := estimate(wrong); estimator == "tigpo" {
				require.ErrorContains(t, err, `line 2 (group "h", trajectory "b", step 0): iteration is not a whole number from 0`, wrong)
			} else {
				require.NoError(t, err)
			}
		}
	}
}
