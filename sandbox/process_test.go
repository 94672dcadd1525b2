package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// The tests of isolation: process start this test binary as worker.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	os.Exit(m.Run())
}

func inProcesses(workers int) func(*sandbox.Config) {
	return func(c *sandbox.Config) { c.Isolation, c.Workers = sandbox.Process, workers }
}

// workers lists the worker processes of this process.
func workers(t testing.TB) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // a process may end meanwhile
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		// pid (name) state parent …
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && bytes.Contains(line, []byte(sandbox.WorkerArgument)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// halt stops every worker, and waits until all its threads have stopped: until then, they
// may still evaluate. A worker that an earlier evaluation killed may still be listed.
func halt(t testing.TB) {
	t.Helper()
	for _, pid := range workers(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != syscall.ESRCH {
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { return stopped(pid) }, soon, time.Millisecond)
	}
}

// stopped reports whether no thread of a process can run.
func stopped(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", pid))
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // a thread may end meanwhile
		state := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(state) > 0 && !strings.Contains("TtZX", state[0]) {
			return false
		}
	}
	return true
}

// computed is the time that a process has computed, in ticks of the kernel's
// clock.
func computed(t testing.TB, pid int) (ticks int) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	const user = 11 // fields behind the name, from 0: state, parent, …
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks, err = strconv.Atoi(fields[user])
	require.NoError(t, err)
	return ticks
}

// Promise: in worker processes results, reasons, logs and fuel are, byte for
// byte, those of snapshot mode, for every kind of module.
func TestProcessEqualsSnapshot(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	list := []*rl.Trajectory{small(), long(6), long(200), {ID: "empty"}}
	here, there := newRuntime(t), newRuntime(t, inProcesses(2))
	for name, wasm := range map[string][]byte{
		"go": goGuest(t, "examples/gsm8k"), "counter": counter(), "command": goGuest(t, "sandbox/testdata/command", "-ldflags=-s"),
		"cold":   guest{evaluate: wt.LocalGet(0) + wt.I32Load(24) + wt.I32Const(4) + wt.I32Ne + wt.If(wt.Unreachable) + score(1) + scored}.wasm(),
		"tables": guest{evaluate: wt.I32Const(0) + wt.RefNull(wt.FuncRef) + wt.TableSet(0) + score(1) + scored, change: func(m *wt.Module) { m.Tables = []wt.Table{{Size: wt.Size{Min: 1}}} }}.wasm(),
	} {
		a, b := load(t, here, wasm), load(t, there, wasm)
		require.Equal(t, a.Info(), b.Info(), name)
		require.Equal(t, a.Manifest(), b.Manifest(), name)
		require.Equal(t, sandbox.Process, b.Isolation())
		require.Equal(t, string(all(t, a, list)), string(all(t, b, list)), name)
	}
	wasm := goGuest(t, "sandbox/testdata/group")
	a, b := load(t, here, wasm), load(t, there, wasm)
	x, y := a.EvaluateGroup(context.Background(), list), b.EvaluateGroup(context.Background(), list)
	for i := range x {
		x[i].Elapsed, y[i].Elapsed = 0, 0
	}
	require.Equal(t, x, y)
	far, near := load(t, there, counter()), load(t, here, counter())
	each := far.EvaluateEach(context.Background(), []reward.Scorer{far, near}, small())
	require.Equal(t, each[0].Result, each[1].Result)
	require.Equal(t, each[0].Fuel, each[1].Fuel)
}

// Promise: a script, too, gives in a worker process what it gives here.
func TestProcessRunsScripts(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	python := interpreter.Python()
	testneeds.File(t, "run: merit python install", python.Path(interpreter.Folder()))
	path := filepath.Join(t.TempDir(), "reward.py")
	require.NoError(t, os.WriteFile(path, []byte(`
from merit_reward import reward_function
@reward_function
def evaluate(messages, ground_truth=None, **kwargs):
    print("seen", len(messages))
    if len(messages) > 6:
        raise ValueError("too long")
    return {"score": len(messages) / 8, "reason": str(ground_truth) + str(sorted(kwargs)), "metrics": {"n": {"score": 1, "reason": "one", "is_score_valid": True}}}
`), 0o600))
	with := small()
	with.Metadata = map[string]json.RawMessage{"b": json.RawMessage("2"), "a": json.RawMessage(`{"x": [1.50, "✓"]}`)}
	list := []*rl.Trajectory{small(), with, long(8), long(6)}
	var got []string
	for _, change := range []func(*sandbox.Config){func(*sandbox.Config) {}, inProcesses(1)} {
		m, err := newRuntime(t, change).LoadFile(context.Background(), path)
		require.NoError(t, err)
		got = append(got, fmt.Sprint(m.Info())+string(all(t, m, list)))
	}
	require.Equal(t, got[0], got[1])
	require.Contains(t, got[0], "too long")
}

// Promise: the refusal of a module comes through the pipe unchanged.
func TestProcessRefuses(t *testing.T) {
	here, there := newRuntime(t), newRuntime(t, inProcesses(1))
	for name, wasm := range map[string][]byte{
		"empty": nil, "nothing exported": wt.Module{}.Bytes(), "invalid": guest{evaluate: wt.I64Const(0)}.wasm(),
		"traps": guest{change: func(m *wt.Module) {
			m.Funcs = append(m.Funcs, wt.Func{Export: "_initialize", Body: wt.Unreachable})
		}}.wasm(),
	} {
		_, want := here.Load(context.Background(), name, wasm)
		_, got := there.Load(context.Background(), name, wasm)
		require.ErrorIs(t, got, fault.Of(fault.Sandbox, fault.Refused), name)
		require.Equal(t, want.Error(), got.Error(), name)
		require.Equal(t, fault.As(want).Hint, fault.As(got).Hint, name)
	}
}

// Promise: a worker that is killed fails only the evaluation that it was
// running; the others continue, and the next evaluation gets a new worker.
func TestKilledWorkerIsOneOutcome(t *testing.T) {
	r := newRuntime(t, inProcesses(2), func(c *sandbox.Config) { c.Fuel, c.WallClock = 1<<50, soon })
	m := load(t, r, endlessOn(6))
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
	for range 3 {
		first := workers(t)
		require.Len(t, first, 1)
		held := make(chan reward.Evaluation)
		before := computed(t, first[0])
		go func() { held <- m.Evaluate(context.Background(), long(6)) }()
		// Nobody else computes there.
		require.Eventually(t, func() bool { return computed(t, first[0]) >= before+10 }, soon, time.Millisecond)
		var beside sync.WaitGroup
		started := make(chan struct{})
		beside.Go(func() {
			for i := range 50 {
				if i == 1 {
					close(started)
				}
				if e := m.Evaluate(context.Background(), small()); e.Outcome != reward.Scored {
					t.Errorf("%+v", e)
				}
			}
		})
		<-started
		require.NoError(t, syscall.Kill(first[0], syscall.SIGKILL))
		e := <-held
		require.Equal(t, reward.Infrastructure, e.Outcome)
		require.Contains(t, e.Reason, "killed")
		beside.Wait()
		require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
	}
}

// Promise: the wall clock and the caller's context end an evaluation in a
// worker, even one that is stopped and cannot answer.
func TestProcessEndsInTime(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	r := newRuntime(t, inProcesses(1), func(c *sandbox.Config) { c.Fuel, c.WallClock = 1<<50, 3*time.Second })
	m := load(t, r, endlessOn(6))
	require.Equal(t, reward.Timeout, m.Evaluate(context.Background(), long(6)).Outcome)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	e := m.Evaluate(ctx, long(6))
	require.Equal(t, reward.Infrastructure, e.Outcome)
	require.Equal(t, "cancelled", e.Reason)
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)

	halt(t)
	e = m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Timeout, e.Outcome)
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)

	halt(t)
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.Equal(t, reward.Infrastructure, m.Evaluate(ctx, small()).Outcome)
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
}

// Promise: a module that does not fit into a worker is rejected with the limit
// to raise, and modules that were loaded before keep working.
func TestWorkerMemory(t *testing.T) {
	r := newRuntime(t, inProcesses(1), func(c *sandbox.Config) { c.MemoryMiB, c.WorkerMiB = 256, 512 })
	const pages = 200 << 4
	full := guest{change: func(m *wt.Module) {
		m.Funcs = append(m.Funcs, wt.Func{Export: "_initialize", Body: wt.I32Const(pages) + wt.MemoryGrow + wt.Drop + wt.I32Const(1<<16) + wt.I32Const(1) + wt.I32Const(pages<<16) + wt.MemoryFill})
	}}.wasm()
	first := load(t, r, guest{}.wasm())
	var err error
	for n := 0; err == nil && n < 4; n++ {
		_, err = r.Load(context.Background(), "full", full)
	}
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
	require.ErrorContains(t, err, "the module cannot be loaded in a worker process")
	require.Contains(t, fault.As(err).Hint, "worker_mib")
	e := first.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
}

// Promise: one worker holds many modules at one time.
func TestProcessHoldsManyModules(t *testing.T) {
	r := newRuntime(t, inProcesses(1))
	for n := range 100 {
		e := load(t, r, guest{evaluate: score(float64(n)) + scored}.wasm()).Evaluate(context.Background(), small())
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		require.Equal(t, float64(n), e.Result.Score)
	}
}

// Promise: a worker takes interpreters from the cache before the wall goes up,
// and what untrusted modules become never comes near the cache.
func TestProcessCachesInterpretersOnly(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	dir := filepath.Join(t.TempDir(), "cache")
	for range 2 {
		r := newRuntime(t, inProcesses(1), func(c *sandbox.Config) { c.CacheDir = dir })
		flat := load(t, r, guest{}.wasm()) // its worker has no interpreter and makes room
		script, err := loadScript(t, r, "reward.js", "export default () => 0.5;")
		require.NoError(t, err)
		for _, m := range []*sandbox.Module{flat, script, flat} {
			e := m.Evaluate(context.Background(), small())
			require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		}
		require.Len(t, workers(t), 1)
		entries, err := filepath.Glob(filepath.Join(dir, "v*", "*", "seal"))
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.NoError(t, r.Close(context.Background()))
	}
}

// Promise: modules that are closed leave the workers, and a runtime that is
// closed leaves no process and no goroutine.
func TestProcessCloseLeavesNothing(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	cfg := sandbox.DefaultConfig()
	inProcesses(2)(&cfg)
	cfg.MemoryMiB, cfg.WorkerMiB = 256, 1024
	r, err := sandbox.New(context.Background(), cfg)
	require.NoError(t, err)
	for range 20 { // more than fit at one time
		m := load(t, r, guest{}.wasm())
		require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
		m.Close(context.Background())
	}
	inForce, missing := r.Wall()
	require.Contains(t, inForce, "own process group")
	if runtime.GOOS == "linux" {
		require.Contains(t, inForce, "seccomp")
		require.Empty(t, missing)
	}
	require.NoError(t, r.Close(context.Background()))
	require.Empty(t, workers(t))
	for deadline := time.Now().Add(soon); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}

func BenchmarkProcess(b *testing.B) {
	for _, mode := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Process} {
		b.Run(fmt.Sprint(mode), func(b *testing.B) {
			m := load(b, newRuntime(b, func(c *sandbox.Config) { c.Isolation, c.Workers = mode, 1 }), goGuest(b, "examples/gsm8k"))
			for b.Loop() {
				m.Evaluate(context.Background(), small())
			}
		})
	}
}

// Promise: a program that uses isolation: process and forgets to become a
// worker does not start itself again and again.
func TestForgottenWorkerMain(t *testing.T) {
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	os.Args = []string{args[0], sandbox.WorkerArgument}
	_, err := sandbox.New(t.Context(), sandbox.DefaultConfig())
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
	require.Contains(t, fault.As(err).Hint, "sandbox.WorkerMain")
}
