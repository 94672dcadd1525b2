package answer_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/answer"
)

// What a verdict costs natively: on the samples of GSM8K and MATH that examples/rewards/verifier
// has, one answer after the other on one core.
func BenchmarkCheck(b *testing.B) {
	for _, name := range []string{"gsm8k", "data"} {
		rows := lines[struct {
			Messages []struct{ Content string }
			Truth    string `json:"ground_truth"`
		}](b, filepath.Join(testneeds.Root(), "examples", "rewards", "verifier", name+".jsonl"))
		require.NotEmpty(b, rows)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r := rows[n%len(rows)]
				answer.Check(r.Truth, r.Messages[0].Content)
				n++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "verdicts/s")
		})
	}
}
