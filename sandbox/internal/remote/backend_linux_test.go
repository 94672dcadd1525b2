package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/source"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

const argument = "remote-test-worker"

// The tests start this test binary as worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == argument {
		if err := Serve(os.Stdin, os.Stdout, func(string, []string) source.Languages { return nil }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// oneProcess is a backend with one worker and a module.
func oneProcess(t *testing.T) (*Backend, *Module) {
	b := oneWorker(t, nil)
	m, err := b.Load(context.Background(), source.Module("answer", answerWasm(t)))
	require.NoError(t, err)
	return b, m
}

func answerWasm(t *testing.T) []byte {
	wasm, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"))
	require.NoError(t, err)
	return wasm
}

// oneWorker is a backend of one worker, which logs to logger.
func oneWorker(t *testing.T, logger *slog.Logger) *Backend {
	b, err := New(context.Background(), Options{Options: local.Options{Workers: 1, Logger: logger, Limits: limits.Limits{
		Fuel: 1e9, MemoryMiB: 64, TableEntries: 10_000, ModuleMiB: 32, InputMiB: 8, OutputKiB: 1024, LogKiB: 64, Steps: 1000, CallDepth: 10_000, WallClock: 10 * time.Second, StartWallClock: time.Minute,
	}}, WorkerMiB: 2048}, nil, argument)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// Promise: a user who waits for a worker process to compile is informed once,
// before the reward is loaded.
func TestCompilingInAWorkerIsLogged(t *testing.T) {
	var log bytes.Buffer
	b := oneWorker(t, slog.New(slog.NewTextHandler(&log, nil)))
	small, err := b.Load(context.Background(), source.Module("small", answerWasm(t)))
	require.NoError(t, err)
	require.Empty(t, log.String(), "a small module compiles in a moment")
	name := []byte{4, 'm', 'o', 'r', 'e'}
	more := append(binary.AppendUvarint([]byte{0}, uint64(len(name)+3<<20)), append(name, make([]byte, 3<<20)...)...) // a custom section
	large, err := b.Load(context.Background(), source.Module("large", append(answerWasm(t), more...)))
	require.NoError(t, err)
	require.Regexp(t, `msg="compiling .* s of CPU time`, log.String())
	before := log.String()
	answerOf(t, small)
	answerOf(t, large)
	require.Equal(t, before, log.String())
}

func answerOf(t *testing.T, m *Module) reward.Evaluation {
	e := m.Evaluate(context.Background(), &rl.Trajectory{ID: "t", Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text("A: 4")}}, GroundTruth: []byte(`"4"`)}, nil)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	e.Elapsed = 0
	return e
}

// Promise: a worker that has reached its time limit exits after its result. The
// next evaluation gets a new worker, which knows the module and returns the
// same. That is not a crash.
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
		"data size": fmt.Sprint(f.options.WorkerMiB << 20), "file size": fmt.Sprint(f.options.MemoryMiB << 20),
	} {
		require.Regexp(t, regexp.MustCompile(`(?m)^Max `+name+` +`+want+` +`+want+` `), string(text))
	}
}

// Promise: if every evaluation starts an instance, the host waits for the start
// as well: a warm-up that takes longer than an evaluation may is not a timeout.
func TestPatienceCoversTheStart(t *testing.T) {
	f, m := oneProcess(t)
	require.Less(t, m.patience(), f.options.StartWallClock)
	module := wt.Module{
		Memory: &wt.Memory{Export: "memory", Size: wt.Size{Min: 1}},
		Tables: []wt.Table{{Size: wt.Size{Min: 1}}},
		Funcs: []wt.Func{
			{Export: "merit_abi_1"},
			{Export: "merit_alloc", Params: wt.I32, Results: wt.I32, Body: wt.I32Const(8)},
			{Export: "merit_evaluate", Params: wt.I32 + wt.I32, Results: wt.I32, Body: wt.I32Const(0)},
			{Body: wt.I32Const(0) + wt.RefNull(wt.FuncRef) + wt.TableSet(0)},
		},
	}
	fresh, err := f.Load(context.Background(), source.Module("fresh", module.Bytes()))
	require.NoError(t, err)
	require.Greater(t, fresh.patience(), f.options.StartWallClock+f.options.WallClock)
}
