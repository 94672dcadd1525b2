package train_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Promise: what an alarm points at is kept with the run, adapt shows in the
// lines and in the learning rate of the next iteration, and in the cursor.
func TestAlarmsAreKeptAndActedOn(t *testing.T) {
	testneeds.NotShort(t)
	path := t.TempDir()
	s := adapting()
	s.Save = run.SaveConfig{}
	_, err := trainIn(t.Context(), t, path, s, deps(), false)
	require.NoError(t, err)
	lines, err := run.ReadMetrics(path)
	require.NoError(t, err)

	var named []string
	var caution *run.Caution
	rate := lines[1].Update.LearningRate
	for _, it := range lines[1:] {
		want := rate
		if caution != nil {
			want *= caution.Rate
		}
		require.InDelta(t, want, it.Update.LearningRate, 1e-12, "iteration %d", it.Iteration)
		if it.Adapted != nil {
			caution = it.Adapted
		}
		for _, a := range it.Alarms {
			named = append(named, a.Trajectories...)
		}
	}
	require.NotNil(t, caution)
	require.Equal(t, 0.5, caution.Clip)
	last, err := run.ReadCheckpoint(path, run.Last)
	require.NoError(t, err)
	require.Equal(t, caution, last.Cursor.Caution)

	require.NotEmpty(t, named)
	var kept []string
	for e, err := range jsonl.Trajectories(filepath.Join(path, run.Trajectories, run.TrainTrajectories)) {
		require.NoError(t, err)
		kept = append(kept, e.ID)
	}
	require.Subset(t, kept, named)
}

// Promise: stop ends a run at the alarm, like a target, and a user who only
// wants warnings can resume it.
func TestAlarmStopsARun(t *testing.T) {
	testneeds.NotShort(t)
	path := t.TempDir()
	s := adapting()
	s.Monitor.OnAlarm = monitor.OnAlarmStop
	summary, err := trainIn(t.Context(), t, path, s, deps(), false)
	require.NoError(t, err)
	require.Equal(t, run.StopAlarm, summary.Stop)
	require.Equal(t, 1, summary.Iterations)
	s.Monitor.OnAlarm = monitor.OnAlarmWarn
	summary, err = trainIn(t.Context(), t, path, s, deps(), true)
	require.NoError(t, err)
	require.Equal(t, run.StopIterations, summary.Stop)
	require.Equal(t, s.Train.Iterations, summary.Iterations)
}

// Promise: train.stop.flags: stop ends a run at a red flag of the level alarm, though
// monitor.on_alarm only warns; without it the run continues, also a run that it ended.
func TestRedFlagsStopARun(t *testing.T) {
	testneeds.NotShort(t)
	path := t.TempDir()
	s := adapting()
	s.Monitor.OnAlarm, s.Train.Stop.Flags = monitor.OnAlarmWarn, "stop"
	summary, err := trainIn(t.Context(), t, path, s, deps(), false)
	require.NoError(t, err)
	require.Equal(t, run.StopAlarm, summary.Stop)
	require.Equal(t, 1, summary.Iterations)

	s.Train.Stop.Flags = "continue"
	for _, at := range []struct {
		path   string
		resume bool
	}{{path, true}, {t.TempDir(), false}} {
		summary, err = trainIn(t.Context(), t, at.path, s, deps(), at.resume)
		require.NoError(t, err)
		require.Equal(t, []any{run.StopIterations, s.Train.Iterations}, []any{summary.Stop, summary.Iterations})
	}
}
