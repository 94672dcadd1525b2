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
	"github.com/merit-rl/merit/core/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// What a guest does to the host: the longest pause of the garbage collector,
// which waits for guests, while one reward is evaluated again and again beside
// it. Compiled code cannot be preempted, so a module that burns its whole budget
// holds everything up for as long as the budget lasts, unless it does so in a
// worker process.
func BenchmarkPause(b *testing.B) {
	c, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"))
	require.NoError(b, err)
	for _, m := range []struct {
		name      string
		wasm      []byte
		isolation sandbox.Isolation
	}{
		{"none", nil, ""}, {"c", c, sandbox.Snapshot}, {"go", goGuest(b, "examples/gsm8k"), sandbox.Snapshot},
		{"hostile", guest{evaluate: forever}.wasm(), sandbox.Snapshot}, {"hostile-in-process", guest{evaluate: forever}.wasm(), sandbox.Process},
	} {
		b.Run(m.name, func(b *testing.B) {
			if m.wasm != nil {
				module, x := load(b, newRuntime(b, func(c *sandbox.Config) { c.Isolation = m.isolation }), m.wasm), conversation()
				var over atomic.Bool
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for !over.Load() {
						if e := module.Evaluate(context.Background(), x); e.Outcome != reward.Scored && e.Outcome != reward.OutOfFuel {
							panic(e.Reason)
						}
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
