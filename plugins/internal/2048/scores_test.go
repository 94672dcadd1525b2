package tiles

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/plugins/internal/2048/internal/grid"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Promise: the README's scores are what its players make of the test split: the
// same to the last digit on every machine.
func TestScores(t *testing.T) {
	readme, err := os.ReadFile("../../2048/README.md")
	require.NoError(t, err)
	tables := grid.NewTables()
	scripted := func(choose func(*grid.Tables, grid.Grid) grid.Direction) func(string, []byte) int {
		return func(anchor string, _ []byte) int {
			g, err := grid.Parse(anchor)
			require.NoError(t, err)
			return int(choose(tables, g))
		}
	}
	for _, p := range []struct {
		name   string
		games  int
		choose func(string, []byte) int
	}{
		{"random", 1000, envtest.Random()},
		{"corner: down, left, right, up", 1000, scripted(corner)},
		{"expectimax, one tile ahead", 50, scripted(expectimax)},
	} {
		episodes := envtest.Play(t, open(t, 16, plugin.Test, `{"max_steps": 5000}`), p.games, p.choose)
		var score, moves, tile []float64
		for _, e := range episodes {
			require.True(t, e.Terminated, "played to its end")
			require.Equal(t, e.Return, e.Metrics["score"])
			score, moves, tile = append(score, e.Metrics["score"]), append(moves, e.Metrics["moves"]), append(tile, e.Metrics["max_tile"])
		}
		mean, low, high := stats.Mean(score)
		length, _, _ := stats.Mean(moves)
		largest, _, _ := stats.Mean(tile)
		row := fmt.Sprintf("| %s | %d | %.0f [%.0f, %.0f] | %.0f | %.0f |", p.name, p.games, mean, low, high, largest, length)
		require.Contains(t, string(readme), row)
	}
}
