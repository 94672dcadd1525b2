package monitor

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// recorded is what testdata holds of a run.
type recorded struct {
	estimator string
	lines     []run.Iteration
}

func recordings(t *testing.T, file string) map[string]*recorded {
	f, err := os.Open(filepath.Join("testdata", file))
	require.NoError(t, err)
	defer f.Close()
	text, err := gzip.NewReader(f)
	require.NoError(t, err)
	runs := map[string]*recorded{}
	for d := json.NewDecoder(text); ; {
		var row struct {
			Run       string
			Estimator string
			Line      run.Iteration
		}
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return runs
		}
		require.NoError(t, err)
		if runs[row.Run] == nil {
			runs[row.Run] = &recorded{estimator: row.Estimator}
		}
		runs[row.Run].lines = append(runs[row.Run].lines, row.Line)
	}
}

// alarms goes through the lines of a run as its loop did.
func (r *recorded) alarms() (all []run.Alarm) {
	i := slices.IndexFunc(advantage.Estimators(), func(e advantage.Estimator) bool { return e.Name == r.estimator })
	e := advantage.Estimators()[i]
	return replay(Default().For(e.Anchors, !e.Values && !(advantage.Config{Estimator: r.estimator}).Whitens()), r.lines)
}

// replay returns all alarms of a run, and writes them into its lines.
func replay(c Config, lines []run.Iteration) (all []run.Alarm) {
	for i := range lines {
		lines[i].Alarms = c.Look(lines[:i+1])
		all = append(all, lines[i].Alarms...)
	}
	return all
}

// Promise: ten healthy runs of the examples raise no red flag, and ten more
// that no threshold was chosen by raise none either.
func TestHealthyRunsAreSilent(t *testing.T) {
	testneeds.NotShort(t)
	for _, file := range []string{"calibration.jsonl.gz", "heldout.jsonl.gz"} {
		runs, lines, alarms := recordings(t, file), 0, 0
		require.Len(t, runs, 10)
		for name, r := range runs {
			all := r.alarms()
			for _, a := range all {
				t.Logf("%s %s: iteration %d: %s %s: %s", file, name, a.Iteration, a.Level, a.Name, a.Evidence)
			}
			alarms, lines = alarms+len(all), lines+len(r.lines)-1
		}
		t.Logf("%s: %d red flags in %d iterations of %d runs", file, alarms, lines, len(runs))
		require.Zero(t, alarms)
	}
}

// Promise: the training of examples/hackable, recorded, is caught: the score
// rises while the environment's own reward falls.
func TestHackedRunIsCaught(t *testing.T) {
	r := recordings(t, "hacked.jsonl.gz")["hackable"]
	all := r.alarms()
	require.NotEmpty(t, all)
	require.Equal(t, "divergence", all[0].Name)
	require.Equal(t, run.Alert, all[0].Level)
	require.LessOrEqual(t, all[0].Iteration, 25)
	require.Regexp(t, "the mean score rose .* while (env_reward|success) went from", all[0].Evidence)
}
