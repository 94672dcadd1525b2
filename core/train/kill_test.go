package train_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// adapting are settings under which alarms slow the learner down repeatedly, and pools
// choose the tasks: a resumed run must raise the same alarms and play the same tasks.
func adapting() train.Settings {
	s := settings()
	s.Train.Keep = run.KeepConfig{Every: 3, Last: 1}
	s.Train.Sampling.Method, s.Train.Sampling.Tasks, s.Train.Sampling.Window = sampling.Pools, 20, 8
	s.Monitor = monitor.Default()
	s.Monitor.OnAlarm, s.Monitor.Repeat, s.Monitor.Window = monitor.OnAlarmAdapt, 2, 2
	s.Monitor.Thresholds.KLAlarm, s.Monitor.Thresholds.PerfectScores = 1e-6, 0.01
	return s
}

// childVariable makes this test binary a trainer: it names a run directory.
const childVariable = "MERIT_TEST_TRAIN"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

func child(path string) int {
	dir, err := openDir(path, true)
	if err != nil {
		return 1
	}
	d := deps()
	d.Progress = stdoutEvents{}
	if _, err := train.Run(context.Background(), adapting(), d, dir); err != nil {
		return 1
	}
	return 0
}

// Promise: a run killed with SIGKILL at any moment and resumed ends with the
// same bytes as one that was not. The process is killed again and again, each
// time after a different number of events, until it gets through.
func TestKilledRunsEndWithTheSameBytes(t *testing.T) {
	testneeds.NotShort(t)
	whole := t.TempDir()
	_, err := trainIn(t.Context(), t, whole, adapting(), deps(), false)
	require.NoError(t, err)
	path := t.TempDir()
	kills := 0
	for _, after := range []int{1, 60, 170, 75, 300, 130, 9, 420} {
		if killAfter(t, path, after) {
			kills++
		}
	}
	require.GreaterOrEqual(t, kills, 5)
	require.False(t, killAfter(t, path, 1<<30))
	requireSame(t, bytesOf(t, whole), bytesOf(t, path))
}

// killAfter runs a child and kills it after that many events. It reports
// whether the child died by it.
func killAfter(t *testing.T, path string, events int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	buffer := make([]byte, 1)
	for range events {
		if _, err := out.Read(buffer); err != nil {
			break
		}
	}
	_ = cmd.Process.Kill() // it may be through
	_ = cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		require.True(t, cmd.ProcessState.Success(), "the child failed")
	}
	return status.Signaled()
}

// stdoutEvents writes a byte for each event.
type stdoutEvents struct{}

func (stdoutEvents) event()                        { _, _ = os.Stdout.Write([]byte{'.'}) }
func (e stdoutEvents) Collecting(string, int, int) { e.event() }
func (e stdoutEvents) Evaluated(string, run.Score) { e.event() }
func (e stdoutEvents) Iterated(run.Iteration, int) { e.event() }

// Promise: whatever moment a kill leaves behind, torn lines and half frames
// included, resuming from it ends with the same bytes. Here a copy of the
// directory is taken at every event of a run, and every third is resumed.
func TestEveryMomentCanBeResumed(t *testing.T) {
	testneeds.NotShort(t)
	everyMoment(t, adapting())
}

// Promise: the same for tigpo, whose graphs of earlier updates are in the checkpoint, and forget.
func TestEveryMomentOfAKeptGraphCanBeResumed(t *testing.T) {
	testneeds.NotShort(t)
	s := adapting()
	s.Advantage.Estimator, s.Advantage.KeptEdges = "tigpo", 100
	whole := everyMoment(t, s)
	metrics, err := run.ReadMetrics(whole)
	require.NoError(t, err)
	last := metrics[len(metrics)-1].Advantage
	require.LessOrEqual(t, last.KeptEdges, 100)
	require.Positive(t, last.KeptEdges)
	forgotten, revisited, used := 0, 0.0, 0.0
	for _, it := range metrics[1:] {
		forgotten += it.Advantage.KeptForgotten
		revisited, used = revisited+it.Advantage.RevisitRate, used+it.Advantage.KeptStepShare
	}
	require.Positive(t, forgotten)
	require.Positive(t, revisited)
	require.Positive(t, used)
}

// everyMoment compares a whole run with runs that are resumed from copies of it, and returns the
// directory of the whole one.
func everyMoment(t *testing.T, s train.Settings) string {
	whole := t.TempDir()
	_, err := trainIn(t.Context(), t, whole, s, deps(), false)
	require.NoError(t, err)
	want := bytesOf(t, whole)

	path, copies := t.TempDir(), t.TempDir()
	d := deps()
	snapshots := &copier{t: t, from: path, to: copies, every: 3}
	d.Progress = snapshots
	_, err = trainIn(t.Context(), t, path, s, d, false)
	require.NoError(t, err)
	require.Greater(t, len(snapshots.taken), 10)
	for i, moment := range snapshots.taken {
		if i%2 == 1 {
			appendTo(t, filepath.Join(moment, run.MetricsFile), `{"iteration":99,"env_st`)
			appendTo(t, filepath.Join(moment, run.Trajectories, run.TrainTrajectories), "\x28\xb5\x2f\xfd\x04\x58")
		}
		_, err := trainIn(t.Context(), t, moment, s, deps(), true)
		require.NoError(t, err)
		requireSame(t, want, bytesOf(t, moment))
	}
	return whole
}

type copier struct {
	t        *testing.T
	from, to string
	every    int
	seen     int
	taken    []string
}

func (c *copier) event() {
	if c.seen++; c.seen%c.every != 0 {
		return
	}
	moment := filepath.Join(c.to, filepath.Base(c.from), string(rune('a'+len(c.taken)%26))+string(rune('a'+len(c.taken)/26)))
	require.NoError(c.t, os.CopyFS(moment, os.DirFS(c.from)))
	c.taken = append(c.taken, moment)
}

func (c *copier) Collecting(_ string, done, _ int) {
	if done%16 == 0 {
		c.event()
	}
}
func (c *copier) Evaluated(string, run.Score) { c.event() }
func (c *copier) Iterated(run.Iteration, int) { c.event() }

func appendTo(t *testing.T, path, tail string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	require.NoError(t, err)
	_, err = f.WriteString(tail)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
