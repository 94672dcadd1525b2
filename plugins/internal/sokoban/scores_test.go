package sokoban

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/solve"
	"github.com/merit-rl/merit/sdk/plugin"
)

// shortest plays a shortest solution: the first move after which the solver
// needs one move less.
func shortest(t *testing.T) func(string, []byte) int {
	var s solve.Solver
	return func(anchor string, _ []byte) int {
		b, wrong := board.Parse(strings.Split(anchor, "\n"))
		require.Empty(t, wrong)
		now, ok := s.Optimum(b, 100)
		require.True(t, ok, anchor)
		for d := board.Up; d <= board.Right; d++ {
			var then board.Board
			then.Set(b)
			if then.Move(d) {
				if left, ok := s.Optimum(&then, now-1); ok && left == now-1 {
					return int(d)
				}
			}
		}
		t.Fatalf("no move of a shortest solution:\n%s", anchor)
		return 0
	}
}

// Promise: the README's scores are what its players make of the test split: the
// same to the last digit on every machine. Who plays a shortest solution has a
// gap of exactly 0.
func TestScores(t *testing.T) {
	readme, err := os.ReadFile("../../sokoban/README.md")
	require.NoError(t, err)
	for name, options := range map[string]string{
		"one box":   `{}`,
		"two boxes": `{"boxes": 2, "optimum": [3, 22], "max_steps": 30}`,
	} {
		const n = 1000
		solved, best, gap := 0, 0, []float64(nil)
		for _, e := range envtest.Play(t, open(t, 16, plugin.Test, options), n, envtest.Random()) {
			if e.Metrics["solved"] == 1 {
				solved++
				gap = append(gap, e.Metrics["optimality_gap"])
			}
		}
		for _, e := range envtest.Play(t, open(t, 1, plugin.Test, options), 100, shortest(t)) {
			require.Equal(t, map[string]float64{"solved": 1, "optimality_gap": 0}, e.Metrics)
			best++
		}
		low, high := stats.Wilson(solved, n)
		mean, _, _ := stats.Mean(gap)
		require.Contains(t, string(readme), fmt.Sprintf("| %s | %.1f %% [%.1f, %.1f], gap %.2f | %d %%, gap 0 |",
			name, 100*float64(solved)/n, 100*low, 100*high, mean, best))
	}
}
