package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
	"github.com/stretchr/testify/require"
)

// What a guest does to the host: the longest pause of the garbage collector,
// which waits for guests, while one reward is evaluated again and again beside
// it. Compiled code cannot be preempted, so guests pass through Go after every
// slice of their fuel; the cases are those that take longest for a slice.
func BenchmarkPause(b *testing.B) {
	defer cpus.Spare()() // as the command does
	c, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"))
	require.NoError(b, err)
	fresh := func(c *sandbox.Config) { c.Isolation = sandbox.Fresh }
	short := func(c *sandbox.Config) { c.Fuel = 20_000_000 } // a second, in the end
	const all = 64 << 20                                     // bytes of memory
	whole := func(m *wt.Module) { m.Memory.Min = all >> 16 }
	fill := spam(wt.I32Const(0) + wt.I32Const(1) + wt.I32Const(all) + wt.MemoryFill)
	touch := wt.I32Const(0) + wt.LocalSet(2) + wt.Loop(wt.LocalGet(2)+wt.I32Const(1)+wt.I32Store8(0),
		wt.LocalGet(2)+wt.I32Const(4096)+wt.I32Add+wt.LocalTee(2)+wt.I32Const(all)+wt.I32LtU+wt.BrIf(0))
	grow := wt.I32Const(all>>16-4) + wt.MemoryGrow + wt.Drop
	// a multiplicative generator modulo the size: every load waits for the one before
	miss := wt.Loop(wt.LocalGet(2)+wt.I32Load(0), wt.LocalGet(2)+wt.I32Add+wt.I32Const(1664525)+wt.I32Mul+wt.I32Const(1013904223)+wt.I32Add+
		wt.I32Const(all-4)+wt.I32And+wt.LocalSet(2), wt.Br(0))
	evaluates := func(module *sandbox.Module, err error) func() {
		require.NoError(b, err)
		x := conversation()
		return func() {
			if e := module.Evaluate(context.Background(), x); e.Outcome != reward.Scored && e.Outcome != reward.OutOfFuel {
				panic(e.Reason)
			}
		}
	}
	runs := func(wasm []byte, change ...func(*sandbox.Config)) func(*testing.B) func() {
		return func(b *testing.B) func() { return evaluates(load(b, newRuntime(b, change...), wasm), nil) }
	}
	const python = "def reward(messages):\n  n = 0\n  for i in range(1000000): n += i\n  return 1\n"
	for _, m := range []struct {
		name string
		work func(*testing.B) func()
	}{
		{"none", nil}, {"c", runs(c)}, {"go", runs(goGuest(b, "examples/gsm8k"))},
		{"hostile", runs(guest{evaluate: forever}.wasm())}, {"hostile-in-process", runs(guest{evaluate: forever}.wasm(), inProcesses(1))},
		{"fill", runs(guest{evaluate: fill, change: whole}.wasm())},
		{"touch", runs(guest{evaluate: touch + score(1) + scored, locals: wt.I32, change: whole}.wasm(), fresh)},
		{"grow", runs(guest{evaluate: grow + touch + score(1) + scored, locals: wt.I32}.wasm())},
		{"misses", runs(guest{evaluate: miss + wt.Unreachable, locals: wt.I32, change: whole}.wasm(), short)},
		{"python", func(b *testing.B) func() { return evaluates(loadScript(b, newRuntime(b), "reward.py", python)) }},
		{"start", func(b *testing.B) func() {
			path := filepath.Join(folder(b, map[string]string{"reward.py": python}), "reward.py")
			r := newRuntime(b, func(c *sandbox.Config) { c.CacheDir = b.TempDir() })
			return func() {
				m, err := r.LoadFile(context.Background(), path)
				if err != nil {
					panic(err)
				}
				m.Close(context.Background())
			}
		}},
	} {
		b.Run(m.name, func(b *testing.B) {
			if m.work != nil {
				work := m.work(b)
				work() // the first time takes more
				var over atomic.Bool
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for !over.Load() {
						work()
					}
				}()
				defer func() { over.Store(true); <-ended }()
			}
			before := pauses()
			for b.Loop() {
				runtime.GC()
			}
			b.ReportMetric(longest(before, pauses())*1e3, "worst-pause-ms")
		})
	}
}

// pauses reads how long the collector has stopped the world so far, with the
// time that it took to stop.
func pauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// longest returns the upper bound, in seconds, of the longest pause in after
// that is not in before.
func longest(before, after *metrics.Float64Histogram) (bound float64) {
	for i := range after.Counts {
		if after.Counts[i] > before.Counts[i] {
			bound = after.Buckets[i+1]
		}
	}
	return bound
}
