package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

// oneProcess is a fleet of one worker with a module.
func oneProcess(t *testing.T) (*fleet, *Module) {
	cfg := DefaultConfig()
	cfg.Isolation, cfg.Workers = Process, 1
	r, err := New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	wasm, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"))
	require.NoError(t, err)
	m, err := r.Load(context.Background(), "answer", wasm)
	require.NoError(t, err)
	return r.fleet, m
}

func answerOf(t *testing.T, m *Module) reward.Evaluation {
	e := m.Evaluate(context.Background(), &rl.Trajectory{ID: "t", Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text("A: 4")}}, GroundTruth: []byte(`"4"`)})
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	e.Elapsed = 0
	return e
}

// Promise: a worker that has worked its time goes when it has given its
// result; the next evaluation finds a new one, which knows the module and says
// the same. That is no crash.
func TestWorkersRetire(t *testing.T) {
	f, m := oneProcess(t)
	first := f.idle[0]
	want := answerOf(t, m)
	first.busy = workerBusy - workerBusy/10
	require.Equal(t, want, answerOf(t, m))
	require.Equal(t, []*link{first}, f.idle, "its time is not over")
	first.busy = workerBusy
	require.Equal(t, want, answerOf(t, m))
	require.Empty(t, f.idle)
	require.False(t, first.alive())
	require.Equal(t, want, answerOf(t, m))
	require.Len(t, f.idle, 1)
	require.NotEqual(t, first.process.PID(), f.idle[0].process.PID())
	require.Zero(t, f.crashes)
}

// Promise: a real worker is under the limits that it should be under.
func TestWorkersHaveLimits(t *testing.T) {
	f, m := oneProcess(t)
	answerOf(t, m)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", f.idle[0].process.PID()))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"cpu time": fmt.Sprint(int(workerCPU.Seconds())), "core file size": "0",
		"data size": fmt.Sprint(f.config.WorkerMiB << 20), "file size": fmt.Sprint(f.config.MemoryMiB << 20),
	} {
		require.Regexp(t, regexp.MustCompile(`(?m)^Max `+name+` +`+want+` +`+want+` `), string(text))
	}
}
