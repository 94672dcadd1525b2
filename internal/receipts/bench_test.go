package receipts

import (
	"crypto/ed25519"
	"slices"
	"testing"

	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/stretchr/testify/require"
)

func testSigner(testing.TB) *Signer { return newSigner(keyOf(make([]byte, ed25519.SeedSize))) }

func keyOf(seed []byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(seed) }

// BenchmarkReceipts measures what a receipt costs, without writing it: the digests, the line, and
// its part of the signature.
func BenchmarkReceipts(b *testing.B) {
	var batch []noted
	for t, err := range jsonl.Trajectories(testneeds.Shared(b, "data", "gsm8k_model_solutions.jsonl")) {
		require.NoError(b, err)
		score := 1.0
		r := scoring.Result{ID: t.ID, Outcome: "scored", Score: &score, Fuel: 12345}
		if batch = append(batch, note(&r)); len(batch) == SealEvery {
			break
		}
	}
	signer := testSigner(b)
	for b.Loop() {
		s := &sealing{batch: slices.Clone(batch), seal: Seal{From: 1, To: SealEvery}, done: make(chan struct{})}
		s.compute()
		signer.sign(s.seal.statement(root(s.seal.leaves())))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*SealEvery), "ns/receipt")
}
