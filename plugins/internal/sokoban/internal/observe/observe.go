// Package observe turns boards into the tensors that small networks read:
// planes of 0 and 1.
package observe

import "github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"

// View is a way to look at a board.
type View struct {
	Name string
	// Shape returns [planes rows columns] for boards of at most these sides.
	Shape func(height, width int) []int
	// Fill writes the planes of b into a zeroed tensor of that shape.
	Fill func(tensor []float32, shape []int, b *board.Board)
}

// Views lists the views. Ego puts the player into the middle, so that its surroundings look
// the same everywhere. Grid shows the board without a shift.
func Views() []View {
	return []View{
		{Name: "ego", Shape: egoShape, Fill: fillEgo},
		{Name: "grid", Shape: gridShape, Fill: fillGrid},
	}
}

// egoShape fits the inner cells for any position of the player. Its planes are floor, box
// and target.
func egoShape(height, width int) []int {
	side := 2*(max(height, width)-2) - 1
	return []int{3, side, side}
}

func fillEgo(tensor []float32, shape []int, b *board.Board) {
	rows, columns := shape[1], shape[2]
	plane := rows * columns
	row, column := b.Player()
	down, right := rows/2-row, columns/2-column
	for r := 1; r < b.Height()-1; r++ {
		cells, at := b.Row(r)[1:b.Width()-1], (r+down)*columns+right+1
		floors, boxes, targets := tensor[at:plane], tensor[plane+at:2*plane], tensor[2*plane+at:3*plane]
		for len(cells) >= 4 && len(floors) >= 4 && len(boxes) >= 4 && len(targets) >= 4 { // without branches, for modules
			k := &kinds[cells[0]]
			floors[0], boxes[0], targets[0] = k[0], k[1], k[2]
			k = &kinds[cells[1]]
			floors[1], boxes[1], targets[1] = k[0], k[1], k[2]
			k = &kinds[cells[2]]
			floors[2], boxes[2], targets[2] = k[0], k[1], k[2]
			k = &kinds[cells[3]]
			floors[3], boxes[3], targets[3] = k[0], k[1], k[2]
			cells, floors, boxes, targets = cells[4:], floors[4:], boxes[4:], targets[4:]
		}
		for c, cell := range cells {
			k := &kinds[cell]
			floors[c], boxes[c], targets[c] = k[0], k[1], k[2]
		}
	}
}

// kinds are the values of the cells in the planes of ego.
var kinds = [256][3]float32{
	board.Floor: {1}, board.Player: {1}, board.Box: {1, 1}, board.BoxOnTarget: {1, 1, 1},
	board.Target: {1, 0, 1}, board.PlayerOnTarget: {1, 0, 1},
}

// gridShape is the largest board: wall, box, target, player. Smaller boards
// are at the top left.
func gridShape(height, width int) []int { return []int{4, height, width} }

func fillGrid(tensor []float32, shape []int, b *board.Board) {
	columns := shape[2]
	plane := shape[1] * columns
	for r := range b.Height() {
		for c, cell := range b.Row(r) {
			at := r*columns + c
			switch cell {
			case board.Wall:
				tensor[at] = 1
			case board.Box:
				tensor[plane+at] = 1
			case board.BoxOnTarget:
				tensor[plane+at] = 1
				tensor[2*plane+at] = 1
			case board.Target:
				tensor[2*plane+at] = 1
			case board.PlayerOnTarget:
				tensor[2*plane+at] = 1
				tensor[3*plane+at] = 1
			case board.Player:
				tensor[3*plane+at] = 1
			}
		}
	}
}
