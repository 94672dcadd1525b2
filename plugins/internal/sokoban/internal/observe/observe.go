// Package observe turns boards into the tensors that small networks read:
// planes of 0 and 1.
package observe

import "github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"

// View is a way to look at a board.
type View struct {
	Name string
	// Shape returns [planes rows columns] for boards of at most these sides.
	Shape func(height, width int) []int
	cells func(dst []cell, shape []int, b *board.Board) []cell
	fill  func(tensor []float32, shape []int, b *board.Board, cells []cell)
}

// Cells are the cells of a level that a view shows. Boxes and the player change where they
// are; walls do not. So a step visits a short list instead of a board.
type Cells struct{ list []cell }

type cell struct{ text, at int32 } // the places in the text of the board, and in a plane

// Views lists the views. Ego puts the player into the middle, so that its surroundings look
// the same everywhere. Grid shows the board without a shift.
func Views() []View {
	return []View{
		{Name: "ego", Shape: egoShape, cells: floors, fill: fillEgo},
		{Name: "grid", Shape: gridShape, cells: all, fill: fillGrid},
	}
}

// Load sets c to the cells of the level of b, in a tensor of that shape.
func (v View) Load(c *Cells, shape []int, b *board.Board) { c.list = v.cells(c.list[:0], shape, b) }

// Fill writes the planes of b, whose cells are c, into a zeroed tensor of that shape.
func (v View) Fill(tensor []float32, shape []int, b *board.Board, c *Cells) {
	v.fill(tensor, shape, b, c.list)
}

// egoShape fits the inner cells for any position of the player. Its planes are floor, box
// and target.
func egoShape(height, width int) []int {
	side := 2*(max(height, width)-2) - 1
	return []int{3, side, side}
}

// floors lists the inner cells that are not walls.
func floors(dst []cell, shape []int, b *board.Board) []cell {
	for r := 1; r < b.Height()-1; r++ {
		for c := 1; c < b.Width()-1; c++ {
			if b.Cell(r, c) != board.Wall {
				dst = append(dst, cell{int32(r*(b.Width()+1) + c), int32(r*shape[2] + c)})
			}
		}
	}
	return dst
}

func fillEgo(tensor []float32, shape []int, b *board.Board, cells []cell) {
	rows, columns := shape[1], shape[2]
	plane, text := rows*columns, b.Text()
	row, column := b.Player()
	shift := (rows/2-row)*columns + columns/2 - column
	for _, c := range cells {
		at := int(c.at) + shift
		tensor[at] = 1
		switch text[c.text] {
		case board.Floor, board.Player:
		case board.Box:
			tensor[plane+at] = 1
		case board.BoxOnTarget:
			tensor[plane+at] = 1
			tensor[2*plane+at] = 1
		case board.Target, board.PlayerOnTarget:
			tensor[2*plane+at] = 1
		}
	}
}

// gridShape is the largest board: wall, box, target, player. Smaller boards
// are at the top left.
func gridShape(height, width int) []int { return []int{4, height, width} }

// all lists all cells.
func all(dst []cell, shape []int, b *board.Board) []cell {
	for r := range b.Height() {
		for c := range b.Width() {
			dst = append(dst, cell{int32(r*(b.Width()+1) + c), int32(r*shape[2] + c)})
		}
	}
	return dst
}

func fillGrid(tensor []float32, shape []int, b *board.Board, cells []cell) {
	plane, text := shape[1]*shape[2], b.Text()
	for _, c := range cells {
		at := int(c.at)
		switch text[c.text] {
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
