package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/cputime"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// BenchmarkStart loads a reward in Python as a new process does, on an interpreter that is
// compiled: one that is in the cache, and one that was changed.
func BenchmarkStart(b *testing.B) {
	for _, changed := range []bool{false, true} {
		b.Run(map[bool]string{false: "cached", true: "changed"}[changed], func(b *testing.B) {
			dir := b.TempDir()
			text, err := os.ReadFile(filepath.Join("..", "sdk", "python", "examples", "answer.py"))
			require.NoError(b, err)
			start := func(n int) {
				path := filepath.Join(dir, "answer.py")
				if changed {
					text = fmt.Appendf(text, "# %d\n", time.Now().UnixNano())
				}
				require.NoError(b, os.WriteFile(path, text, 0o600))
				r := newRuntime(b, func(c *sandbox.Config) { c.Workers, c.CacheDir = 1, cacheDir(b) })
				m, err := r.LoadFile(context.Background(), path)
				require.NoError(b, err)
				require.Equal(b, reward.Scored, m.Evaluate(context.Background(), conversation()).Outcome)
				m.Close(context.Background())
			}
			start(-1)
			var took, cpu []float64
			for n := 0; b.Loop(); n++ {
				t, c := time.Now(), cputime.Seconds()
				start(n)
				took, cpu = append(took, time.Since(t).Seconds()*1e3), append(cpu, (cputime.Seconds()-c)*1e3)
			}
			slices.Sort(took)
			slices.Sort(cpu)
			b.ReportMetric(took[len(took)/2], "p50-ms")
			b.ReportMetric(cpu[len(cpu)/2], "p50-cpu-ms")
		})
	}
}

// BenchmarkPython evaluates rewards in Python on one core, each from fresh state: one that
// returns a constant, and the answer example on 5 KB.
func BenchmarkPython(b *testing.B) {
	answer, err := os.ReadFile(filepath.Join("..", "sdk", "python", "examples", "answer.py"))
	require.NoError(b, err)
	for name, text := range map[string]string{"empty": "def reward(messages): return 1\n", "answer": string(answer)} {
		b.Run(name, func(b *testing.B) {
			m, err := loadScript(b, oneWorker(b), "reward.py", text)
			require.NoError(b, err)
			x := conversation()
			e := m.Evaluate(context.Background(), x)
			require.Equal(b, reward.Scored, e.Outcome, e.Reason)
			began := cputime.Seconds()
			for b.Loop() {
				m.Evaluate(context.Background(), x)
			}
			used := cputime.Seconds() - began
			b.ReportMetric(used/float64(b.N)*1e6, "cpu-µs")
			b.ReportMetric(float64(b.N)/used, "evaluations/cpu-s")
			b.ReportMetric(float64(e.Fuel), "fuel")
		})
	}
}
