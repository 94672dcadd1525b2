package generate_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/generate"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/solve"
)

var update = flag.Bool("update", false, "write testdata/levels.golden")

func configs() []generate.Config {
	held := func(hash uint64) bool { return hash>>63 == 1 }
	return []generate.Config{
		{Side: 6, Boxes: 1, Walls: generate.Range{Max: 3}, Optimum: generate.Range{Min: 3, Max: 20}},
		{Side: 6, Boxes: 2, Walls: generate.Range{Max: 3}, Optimum: generate.Range{Min: 3, Max: 22}, Accept: held},
		{Side: 8, Boxes: 3, Walls: generate.Range{Min: 2, Max: 8}, Optimum: generate.Range{Min: 10, Max: 40}},
	}
}

// Promise: a seed's level stays what it is for ever. The golden file was
// written by this generator at its first commit; a change to it changes every
// published result and must be a new option instead.
func TestGolden(t *testing.T) {
	const path = "testdata/levels.golden"
	var text strings.Builder
	var b board.Board
	for i, cfg := range configs() {
		g := generate.New(cfg)
		for _, seed := range []uint64{0, 1, 2, 1 << 63} {
			_, err := g.Level(seed, &b)
			require.NoError(t, err)
			fmt.Fprintf(&text, "; config %d seed %d\n%s\n\n", i, seed, b.String())
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}

// Promise: every level has what was asked for, and its own solution.
func TestAsAsked(t *testing.T) {
	var s solve.Solver
	var b, again board.Board
	for _, cfg := range configs() {
		g := generate.New(cfg)
		for seed := range uint64(100) {
			optimum, err := g.Level(seed, &b)
			require.NoError(t, err)
			text := b.String()
			parsed, problems := board.Parse(strings.Split(text, "\n"))
			require.Empty(t, problems, text)
			require.Equal(t, []int{cfg.Side, cfg.Side}, []int{parsed.Height(), parsed.Width()})
			require.Equal(t, cfg.Boxes, strings.Count(text, "$"))
			inner := strings.Count(text, "#") - 4*(cfg.Side-1)
			require.True(t, cfg.Walls.Min <= inner && inner <= cfg.Walls.Max, text)
			moves, ok := s.Optimum(parsed, 1000)
			require.True(t, ok, text)
			require.Equal(t, moves, optimum)
			require.True(t, cfg.Optimum.Min <= moves && moves <= cfg.Optimum.Max, "%d moves\n%s", moves, text)
			_, err = generate.New(cfg).Level(seed, &again)
			require.NoError(t, err)
			require.Equal(t, text, again.String(), "a level depends on its seed alone")
		}
	}
}

// Promise: asking for what does not exist is an error, not a hang.
func TestImpossible(t *testing.T) {
	cfg := configs()[0]
	cfg.Accept = func(uint64) bool { return false }
	_, err := generate.New(cfg).Level(7, &board.Board{})
	require.ErrorContains(t, err, "seed 7: no level of 6 × 6 with 1 boxes")
}
