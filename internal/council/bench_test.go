package council_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/council"
)

// BenchmarkDecide is a council of eight that agrees in its third round: the overhead in
// addition to the time of its agents.
func BenchmarkDecide(b *testing.B) {
	var scripts []council.Script
	for range 8 {
		scripts = append(scripts, votes(said("1", "2", "4"), "none", "none", "4"))
	}
	scripts[0] = votes(said("3", "3", "4"), "none", "none", "4")
	scripts[1] = votes(said("3", "3", "5"), "none", "none", "4")
	list := members(scripts...)
	for b.Loop() {
		r, err := council.Decide(b.Context(), council.Settings{Config: council.DefaultConfig(), Members: list, Seed: 1}, task())
		require.NoError(b, err)
		require.Len(b, r.Rounds, 3)
	}
}
