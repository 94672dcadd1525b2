package grid_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/2048/internal/grid"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// naive is the oracle: the game as it is told, on numbers, without tables.
func naive(g grid.Grid, d grid.Direction) (moved grid.Grid, points int) {
	for line := range 4 {
		var cells [4]int // along the move
		for i := range cells {
			cells[i] = map[grid.Direction]int{
				grid.Left: 4*line + i, grid.Right: 4*line + 3 - i, grid.Up: 4*i + line, grid.Down: 4*(3-i) + line,
			}[d]
		}
		var tiles []int
		for _, cell := range cells {
			if tile := g.Tile(cell); tile > 0 {
				tiles = append(tiles, tile)
			}
		}
		var out []int
		for i := 0; i < len(tiles); i++ {
			if i+1 < len(tiles) && tiles[i] == tiles[i+1] && tiles[i] < grid.Most {
				out = append(out, tiles[i]+1)
				points += 1 << (tiles[i] + 1)
				i++
			} else {
				out = append(out, tiles[i])
			}
		}
		for i, tile := range out {
			moved |= grid.Grid(tile) << (4 * cells[i])
		}
	}
	return moved, points
}

// boards are random ones, crowded with tiles that join.
func boards(n int) (all []grid.Grid) {
	r := random.Source(3)
	for range n {
		g := grid.Grid(r.Next())
		switch r.Below(3) {
		case 0:
			g &= 0x3333333333333333
		case 1:
			g &= 0x1111111111111111
		}
		all = append(all, g)
	}
	return append(all, 0, 0xffffffffffffffff, 0x1111111111111111, 0x1212212112122121)
}

// Promise: the tables play the game as it is told, on every kind of board, and
// know which moves change something.
func TestMoves(t *testing.T) {
	tables := grid.NewTables()
	for _, g := range boards(20000) {
		mask, any := make([]byte, 4), false
		got := tables.Legal(g, mask)
		for d := grid.Up; d <= grid.Right; d++ {
			want, points := naive(g, d)
			moved, p := tables.Move(g, d)
			require.Equal(t, want, moved, "%v of\n%v", d, g)
			require.Equal(t, points, p, "%v of\n%v", d, g)
			require.Equal(t, want != g, mask[d] == 1, "%v of\n%v", d, g)
			any = any || want != g
		}
		require.Equal(t, any, got)
	}
}

// Promise: moves as in the game's own examples: a tile joins once a move, and
// from the side that the tiles move to.
func TestJoins(t *testing.T) {
	tables := grid.NewTables()
	for row, want := range map[string]struct {
		left   string
		points int
	}{
		"2 2 2 2":               {"4 4 . .", 8},
		"2 2 2 .":               {"4 2 . .", 4},
		"4 2 2 .":               {"4 4 . .", 4},
		"2 . . 2":               {"4 . . .", 4},
		"2 4 2 4":               {"2 4 2 4", 0},
		"32768 32768 1024 1024": {"32768 32768 2048 .", 2048},
	} {
		rest := "\n. . . .\n. . . .\n. . . ."
		g, err := grid.Parse(row + rest)
		require.NoError(t, err)
		moved, points := tables.Move(g, grid.Left)
		require.Equal(t, want.left+rest, string(moved.Append(nil)), row)
		require.Equal(t, want.points, points, row)
	}
}

// Promise: new tiles fall into empty cells, each of them reached; text and
// board are the same; twins have one form, and others another.
func TestBoards(t *testing.T) {
	for _, g := range boards(2000) {
		empty := 0
		for cell := range grid.Cells {
			if g.Tile(cell) == 0 {
				put := g.Put(empty, 2)
				require.Equal(t, 2, put.Tile(cell))
				require.Equal(t, g, put&^(15<<(4*cell)))
				empty++
			}
		}
		require.Equal(t, empty, g.Empty())
		again, err := grid.Parse(string(g.Append(nil)))
		require.NoError(t, err)
		require.Equal(t, g, again)
		for cell := range grid.Cells {
			row, column := cell/4, cell%4
			require.Equal(t, g.Tile(cell), g.Transposed().Tile(4*column+row))
			require.Equal(t, g.Tile(cell), g.Mirrored().Tile(4*row+3-column))
		}
		require.Equal(t, g.Form(), g.Transposed().Form())
		require.Equal(t, g.Form(), g.Mirrored().Form())
	}
	require.NotEqual(t, grid.Grid(0x12).Form(), grid.Grid(0x102).Form())
	for _, text := range []string{"2 4", "2 2 2 2 . . . . . . . . . . . 3", "1 . . . . . . . . . . . . . . .", "x . . . . . . . . . . . . . . ."} {
		_, err := grid.Parse(text)
		require.Error(t, err, text)
	}
}

// BenchmarkMove is a move alone.
func BenchmarkMove(b *testing.B) {
	tables, g := grid.NewTables(), grid.Grid(0x0012013212345678)
	for i := 0; b.Loop(); i++ {
		moved, _ := tables.Move(g, grid.Direction(i&3))
		g = moved ^ grid.Grid(i&0xff)
	}
}
