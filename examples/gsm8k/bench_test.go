package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sdk/reward"
	"github.com/stretchr/testify/require"
)

// The reward as native Go, without a sandbox: the function alone on a rollout
// at hand, and with the encoding and decoding that a module's evaluation has.
func BenchmarkNative(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/bench/conversation.json"))
	require.NoError(b, err)
	t := new(rl.Trajectory)
	require.NoError(b, json.Unmarshal(data, t))
	e := abi.NewEncoder(8 << 20)
	decoded := func() *reward.Rollout {
		buf, err := e.Trajectory(t)
		if err != nil {
			b.Fatal(err)
		}
		r, err := reward.Decode(buf)
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	r := decoded()
	require.Equal(b, 1.0, score(r).Score)
	b.Run("call", func(b *testing.B) {
		for b.Loop() {
			score(r)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
	})
	b.Run("flat", func(b *testing.B) {
		for b.Loop() {
			score(decoded())
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
	})
}
