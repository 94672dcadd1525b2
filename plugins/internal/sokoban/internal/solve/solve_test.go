package solve_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/boxoban"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/generate"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/solve"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/symmetry"
)

// naive is the oracle: breadth-first search with the game itself and no clever
// thought.
func naive(start *board.Board, limit int) (int, bool) {
	seen := map[string]bool{start.String(): true}
	layer := []*board.Board{start}
	for depth := 0; depth <= limit; depth++ {
		var next []*board.Board
		for _, b := range layer {
			if b.Solved() {
				return depth, true
			}
			for d := board.Up; d <= board.Right; d++ {
				c := &board.Board{}
				c.Set(b)
				if c.Move(d) && !seen[c.String()] {
					seen[c.String()] = true
					next = append(next, c)
				}
			}
		}
		layer = next
	}
	return 0, false
}

// Promise: the solver agrees with playing the game every way, on levels with
// and without solution, and does not care how a level is turned.
func TestAgreesWithTheGame(t *testing.T) {
	var s solve.Solver
	var b, twin board.Board
	solved := 0
	for _, boxes := range []int{1, 2} {
		// A range that admits every level that can be solved.
		g := generate.New(generate.Config{Side: 5, Boxes: boxes, Walls: generate.Range{Max: 3}, Optimum: generate.Range{Min: 1, Max: 60}})
		for seed := range uint64(100) {
			_, err := g.Level(seed, &b)
			require.NoError(t, err)
			b.Move(board.Direction(seed % 4)) // may have spoilt it
			want, can := naive(&b, 60)
			got, ok := s.Optimum(&b, 60)
			require.Equal(t, can, ok, b.String())
			require.Equal(t, want, got, b.String())
			twin.Fill(symmetry.Twin(nil, &b, int(seed%symmetry.Orders)))
			mirrored, _ := s.Optimum(&twin, 60)
			require.Equal(t, want, mirrored)
			if ok {
				solved++
				_, under := s.Optimum(&b, want-1)
				require.False(t, want > 0 && under, "the limit holds")
			}
		}
	}
	require.Greater(t, solved, 100)
}

// Promise: dead corners, solved levels and boards beyond the solver are told.
func TestEdges(t *testing.T) {
	var s solve.Solver
	b, _ := board.Parse(strings.Split("#####\n#$@ #\n#  .#\n#####", "\n"))
	_, ok := s.Optimum(b, 100)
	require.False(t, ok, "a box in a corner")
	b.Fill([]byte("#####\n#@* #\n#####"))
	moves, ok := s.Optimum(b, 0)
	require.True(t, ok)
	require.Zero(t, moves)
	row := "#" + strings.Repeat(" ", 8) + "#\n"
	b.Fill([]byte("##########\n#@$.     #\n" + strings.Repeat(row, 7) + "##########"))
	_, ok = s.Optimum(b, 100)
	require.False(t, ok, "64 cells are more than it takes")
}

// Promise: real Boxoban levels are within reach, if easy.
func TestBoxoban(t *testing.T) {
	levels, err := boxoban.Read(testneeds.Shared(t, "data", "boxoban", "unfiltered_valid_000.txt"))
	require.NoError(t, err)
	require.Len(t, levels, 1000)
	var s solve.Solver
	solved := 0
	for _, b := range levels[:50] {
		if _, ok := s.Optimum(b, 25); ok {
			solved++
		}
	}
	require.Positive(t, solved)
}
