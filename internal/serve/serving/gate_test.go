package serving_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/merit-rl/merit/sandbox"
)

// BenchmarkGuestInTurn measures the cost of turns with the fastest reward, as the server
// evaluates it: with more goroutines than slots.
func BenchmarkGuestInTurn(b *testing.B) {
	text, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests/c/answer.wasm"))
	require.NoError(b, err)
	r, err := sandbox.New(b.Context(), sandbox.DefaultConfig())
	require.NoError(b, err)
	defer r.Close(b.Context())
	module, err := r.Load(b.Context(), "answer", text)
	require.NoError(b, err)
	who, err := tenant.Local(tenant.Limits{}).Authenticate("")
	require.NoError(b, err)
	conversations := make([]*rl.Trajectory, 4096)
	for i := range conversations {
		conversations[i] = &rl.Trajectory{ID: "t", Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("3+4?")}, {Role: rl.RoleAssistant, Content: rl.Text("A: 7")}}}
	}
	for name, scorer := range map[string]reward.Scorer{"without": module, "with": tenant.NewScheduler(0).Gate(who, module)} {
		b.Run(name, func(b *testing.B) {
			pool := reward.NewPool([]reward.Weighted{{Scorer: scorer, Weight: 1}}, 2*cpus.Count())
			for b.Loop() {
				_, err := pool.EvaluateAll(b.Context(), conversations, nil)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.N*len(conversations))/b.Elapsed().Seconds(), "evaluations/s")
		})
	}
}
