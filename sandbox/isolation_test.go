package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

// counter scores how often it was called, by memory and by global, and keeps
// the first bytes of its input: a module that leaks between evaluations in
// every way it can.
func counter() []byte {
	const kept = 1 << 17
	return guest{
		evaluate: wt.I32Const(8) + wt.I32Const(8) + wt.I32Load(0) + wt.I32Const(1) + wt.I32Add + wt.I32Store(0) + // memory[8]++
			wt.GlobalGet(0) + wt.I64Const(1) + wt.I64Add + wt.GlobalSet(0) +
			wt.I32Const(kept) + wt.LocalGet(0) + wt.LocalGet(1) + wt.MemoryCopy +
			wt.I32Const(1) + wt.MemoryGrow + wt.Drop +
			wt.I32Const(8) + wt.I32Load(0) + "\xac" + wt.GlobalGet(0) + wt.I64Add + "\xb9" + wt.Call(setScore) + // as f64
			wt.MemorySize + "\xb7" + wt.LocalSet(2) + wt.I32Const(0) + wt.I32Const(4) + wt.LocalGet(2) + wt.Call(metric) + scored,
		locals: wt.F64, data: "size",
	}.wasm()
}

// Promise: counters in memory and globals do not persist, memory that a guest
// grew is taken back, and the fuel is the same at every evaluation.
func TestStateDoesNotPersist(t *testing.T) {
	m := load(t, newRuntime(t), counter())
	require.Equal(t, sandbox.Snapshot, m.Isolation())
	first := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, first.Outcome, first.Reason)
	for range 1000 {
		e := m.Evaluate(context.Background(), small())
		e.Elapsed = first.Elapsed
		require.Equal(t, first, e)
	}
}

// Promise: with isolation: shared the state does persist, so that the tests
// above would notice.
func TestSharedStatePersists(t *testing.T) {
	m := load(t, newRuntime(t, func(c *sandbox.Config) { c.Isolation, c.Workers = sandbox.Shared, 1 }), counter())
	a, b := m.Evaluate(context.Background(), small()), m.Evaluate(context.Background(), small())
	require.Equal(t, a.Result.Score+2, b.Result.Score)
}

// Promise: a module that looks for what an earlier tenant left finds nothing.
func TestSecretsDoNotPassThroughThePool(t *testing.T) {
	// the score is the number of bytes 's' (as in the secret) in all memory but its own input
	spy := guest{
		evaluate: wt.I32Const(1<<16) + wt.LocalSet(2) + wt.Loop(
			wt.LocalGet(2)+wt.I32Load8U(0)+wt.I32Const('s')+wt.I32Eq+wt.LocalGet(3)+wt.I32Add+wt.LocalSet(3),
			wt.LocalGet(2)+wt.I32Const(1)+wt.I32Add+wt.LocalTee(2)+wt.I32Const(4<<16)+wt.I32LtU+wt.BrIf(0),
		) + wt.LocalGet(3) + "\xb7" + wt.Call(setScore) +
			wt.I32Const(1<<17) + wt.LocalGet(0) + wt.LocalGet(1) + wt.MemoryCopy + scored,
		locals: wt.I32 + wt.I32,
	}.wasm()
	secret := small()
	secret.Messages[0].Content = rl.Text("sssssssssssssssssssssssssss")
	plain := small()
	plain.Messages[0].Content, plain.ID, plain.Messages[1].Content = rl.Text("x"), "x", rl.Text("x")
	m := load(t, newRuntime(t, func(c *sandbox.Config) { c.Workers = 1 }), spy)
	before := m.Evaluate(context.Background(), plain).Result.Score
	for range 20 {
		m.Evaluate(context.Background(), secret)
		require.Equal(t, before, m.Evaluate(context.Background(), plain).Result.Score)
	}
}

// all evaluates every trajectory and returns the bytes of the results.
func all(t *testing.T, m *sandbox.Module, list []*rl.Trajectory) []byte {
	var out []byte
	for _, x := range list {
		e := m.Evaluate(context.Background(), x)
		line, err := json.Marshal(e.Result)
		require.NoError(t, err)
		out = fmt.Appendf(out, "%s %s %q %q %d %s\n", x.ID, e.Outcome, e.Reason, e.Log, e.Fuel, line)
	}
	return out
}

// Promise: fresh and pooled instances, and the interpreter and the compiler,
// give equal bytes and equal fuel.
func TestModesAgree(t *testing.T) {
	list := answers(t)[:20]
	wasm := goGuest(t, "examples/gsm8k")
	want := all(t, load(t, newRuntime(t), wasm), list)
	for name, change := range map[string]func(*sandbox.Config){
		"fresh":       func(c *sandbox.Config) { c.Isolation = sandbox.Fresh },
		"interpreter": func(c *sandbox.Config) { c.Interpreter = true },
		"one worker":  func(c *sandbox.Config) { c.Workers = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, string(want), string(all(t, load(t, newRuntime(t, change), wasm), list)))
		})
	}
}

// Promise: 10,000 identical evaluations from several goroutines give equal
// bytes and equal fuel.
func TestTenThousandRunsAreEqual(t *testing.T) {
	m := load(t, newRuntime(t, func(c *sandbox.Config) { c.Workers = 4 }), goGuest(t, "examples/gsm8k"))
	want := m.Evaluate(context.Background(), small())
	want.Elapsed = 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1250 {
				e := m.Evaluate(context.Background(), small())
				if e.Elapsed = 0; e.Outcome != want.Outcome || e.Result.Score != want.Result.Score || e.Fuel != want.Fuel || e.Log != want.Log {
					t.Errorf("%+v, not %+v", e, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Promise: a module whose tables change is never restored but made anew.
func TestTableChangesMeanFreshInstances(t *testing.T) {
	m := load(t, newRuntime(t), guest{
		evaluate: wt.I32Const(0) + wt.RefNull(wt.FuncRef) + wt.TableSet(0) + score(1) + scored,
		change:   func(m *wt.Module) { m.Tables = []wt.Table{{Size: wt.Size{Min: 1}}} },
	}.wasm())
	require.Equal(t, sandbox.Fresh, m.Isolation())
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
	require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
}
