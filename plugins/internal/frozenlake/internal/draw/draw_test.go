package draw_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/frozenlake/internal/draw"
)

var update = flag.Bool("update", false, "write testdata/lakes.golden")

func all(uint64) bool { return true }

func configs() []draw.Config {
	return []draw.Config{
		{Sides: [2]int{4, 4}, Holes: [2]float64{0.1, 0.25}, Moves: 100, Accept: all},
		{Sides: [2]int{5, 8}, Holes: [2]float64{0.3, 0.4}, Moves: 20, Accept: func(hash uint64) bool { return hash>>63 == 1 }},
	}
}

// Promise: a seed's lake stays what it is for ever. The golden file was written
// by this package at its first commit; a change to it changes every published
// result and must be a new option instead.
func TestGolden(t *testing.T) {
	const path = "testdata/lakes.golden"
	var text strings.Builder
	for i, c := range configs() {
		for _, seed := range []uint64{0, 1, 2, 1 << 63} {
			l, err := c.Lake(seed)
			require.NoError(t, err)
			fmt.Fprintf(&text, "; config %d seed %d\n%s\n\n", i, seed, l.Append(nil, 0))
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}

// Promise: every lake has what was asked for, and a way through within the
// moves.
func TestAsAsked(t *testing.T) {
	for _, c := range configs() {
		sides := map[int]bool{}
		for seed := range uint64(300) {
			l, err := c.Lake(seed)
			require.NoError(t, err)
			sides[l.Rows] = true
			cells := float64(len(l.Cells))
			holes := strings.Count(string(l.Cells), "H")
			require.True(t, int(c.Holes[0]*cells) <= holes && holes <= int(c.Holes[1]*cells), "%d holes", holes)
			require.True(t, l.Shortest >= 2*(l.Rows-1) && l.Shortest <= c.Moves, "%d moves", l.Shortest)
			require.True(t, l.Begin == 0 && l.Cells[len(l.Cells)-1] == 'G' && l.Rows == l.Columns)
		}
		require.Len(t, sides, c.Sides[1]-c.Sides[0]+1)
	}
}

// Promise: asking for what does not exist is an error, not a hang.
func TestImpossible(t *testing.T) {
	c := configs()[0]
	c.Accept = func(uint64) bool { return false }
	_, err := c.Lake(7)
	require.ErrorContains(t, err, "seed 7: no lake of 4 to 4 cells a side")
}
