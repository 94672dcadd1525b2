package tiles

import "github.com/merit-rl/merit/plugins/internal/2048/internal/grid"

// corner keeps the large tiles in one corner: down if it can, else left, else
// right, else up.
func corner(t *grid.Tables, g grid.Grid) grid.Direction {
	for _, d := range []grid.Direction{grid.Down, grid.Left, grid.Right} {
		if moved, _ := t.Move(g, d); moved != g {
			return d
		}
	}
	return grid.Up
}

// expectimax looks at each move, each tile that may come, and the best move
// after it: the expected points, and what the board is worth then.
func expectimax(t *grid.Tables, g grid.Grid) grid.Direction {
	best, most := grid.Up, -1.0
	for d := grid.Up; d <= grid.Right; d++ {
		moved, points := t.Move(g, d)
		if moved == g {
			continue
		}
		if value := float64(points) + expected(t, moved); value > most {
			best, most = d, value
		}
	}
	return best
}

// expected is the mean over the tiles that may come.
func expected(t *grid.Tables, g grid.Grid) float64 {
	sum, empty := 0.0, g.Empty()
	for n := range empty {
		sum += 0.9*after(t, g.Put(n, 1)) + 0.1*after(t, g.Put(n, 2))
	}
	return sum / float64(empty)
}

// after is the value of the best move, and 0 where there is none.
func after(t *grid.Tables, g grid.Grid) float64 {
	most := 0.0
	for d := grid.Up; d <= grid.Right; d++ {
		if moved, points := t.Move(g, d); moved != g {
			most = max(most, float64(points)+worth(moved))
		}
	}
	return most
}

// worth favours room, and large tiles along a snake from a corner.
func worth(g grid.Grid) float64 {
	sum := 0.0
	for cell, weight := range snake {
		sum += weight * float64(int(1)<<g.Tile(cell))
	}
	return sum + 20*float64(g.Empty())
}

// snake halves from cell to cell, along the rows in turn.
var snake = [grid.Cells]float64{
	1. / 4096, 1. / 8192, 1. / 16384, 1. / 32768,
	1. / 2048, 1. / 1024, 1. / 512, 1. / 256,
	1. / 16, 1. / 32, 1. / 64, 1. / 128,
	1. / 8, 1. / 4, 1. / 2, 1,
}
