package prompt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/prompt"
)

// BenchmarkSearch is a whole search with a model that answers at once: the overhead of the
// search per call.
func BenchmarkSearch(b *testing.B) {
	calls := 0
	for b.Loop() {
		r, err := prompt.Run(b.Context(), settings(&world{}))
		require.NoError(b, err)
		calls = r.Spent.Calls
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(calls), "µs/call")
}
