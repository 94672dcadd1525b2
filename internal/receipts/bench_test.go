package receipts

import (
	"crypto/ed25519"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

func testSigner(t testing.TB) *Signer {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, err := ssh.NewPublicKey(private.Public())
	require.NoError(t, err)
	return &Signer{private, public}
}

func keyOf(seed []byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(seed) }

func publicOf(t testing.TB, s *Signer) ssh.PublicKey {
	public, err := ssh.NewPublicKey(s.private.Public())
	require.NoError(t, err)
	return public
}

func sshLine(s *Signer) string { return string(ssh.MarshalAuthorizedKey(s.public)) }

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
