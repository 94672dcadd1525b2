package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/merit"
)

// processor is the CPU time that this process has used: what other processes do on the
// machine does not count.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// What an answer costs in the sandbox: on the samples of GSM8K and MATH, and on all 1,320
// answers to GSM8K where they are shared. The rate is per CPU second.
func BenchmarkSandbox(b *testing.B) {
	wasm := filepath.Join(b.TempDir(), "reward.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", wasm, ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	text, err := build.CombinedOutput()
	require.NoError(b, err, string(text))
	cfg := merit.DefaultConfig().Sandbox
	cfg.CacheDir = b.TempDir()
	load := func() *merit.Rewards {
		rewards, err := merit.LoadRewards(b.Context(), cfg, []merit.Reward{{Module: wasm, Weight: 1}})
		require.NoError(b, err)
		return rewards
	}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, os.RemoveAll(cfg.CacheDir))
			require.NoError(b, load().Close())
		}
	})
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, load().Close())
		}
	})
	rewards := load()
	defer rewards.Close()
	files := []string{"gsm8k.jsonl", "data.jsonl"}
	if shared := os.Getenv("MERIT_SHARED"); shared != "" {
		files = append(files, filepath.Join(shared, "data", "gsm8k_model_solutions.jsonl"))
	}
	for _, file := range files {
		b.Run(filepath.Base(file), func(b *testing.B) {
			n, began := 0, processor(b)
			for b.Loop() {
				s, err := rewards.Evaluate(b.Context(), merit.EvaluateOptions{Data: file, Parallel: 1})
				require.NoError(b, err)
				n += s.Trajectories
			}
			b.ReportMetric(float64(n)/(processor(b)-began).Seconds(), "evaluations/CPU-s")
		})
	}
}
