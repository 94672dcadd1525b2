// Package board plays Sokoban. A board is kept as the text that Boxoban writes
// and a reader sees: its rows, joined by line feeds, of
//
//	# wall   @ player   + player on target
//	. target $ box      * box on target   (space) floor
//
// so that showing a state costs nothing.
package board

// The cells.
const (
	Wall           = '#'
	Floor          = ' '
	Target         = '.'
	Box            = '$'
	BoxOnTarget    = '*'
	Player         = '@'
	PlayerOnTarget = '+'
	rowEnd         = '\n' // walls the sides of the text off
)

// Shown are the characters of a board, apart from the space.
const Shown = "#.$*@+"

// Direction is a move.
type Direction int

// The moves, in the order of Names.
const (
	Up Direction = iota
	Down
	Left
	Right
)

// Names returns the names of the moves.
func Names() []string { return []string{"up", "down", "left", "right"} }

// Board is a state of a level. Copy it with Set.
type Board struct {
	cells         []byte
	height, width int
	player        int
	loose         int // boxes that are not on a target
	step          [4]int
}

// Use lets b keep its cells in memory of the caller, as long as they fit.
func (b *Board) Use(memory []byte) { b.cells = memory[:0:len(memory)] }

// Set makes b a copy of from, reusing its memory.
func (b *Board) Set(from *Board) {
	cells := append(b.cells[:0], from.cells...)
	*b = *from
	b.cells = cells
}

// Height and Width are the sides, walls included.
func (b *Board) Height() int { return b.height }

// Width is the number of cells of a row.
func (b *Board) Width() int { return b.width }

// Cell returns the cell at a row and a column, both from 0.
func (b *Board) Cell(row, column int) byte { return b.cells[row*(b.width+1)+column] }

// Row returns the cells of a row; read only.
func (b *Board) Row(row int) []byte {
	start := row * (b.width + 1)
	return b.cells[start : start+b.width]
}

// Player returns where the player stands.
func (b *Board) Player() (row, column int) {
	return b.player / (b.width + 1), b.player % (b.width + 1)
}

// Loose returns the number of boxes that are not on a target.
func (b *Board) Loose() int { return b.loose }

// Solved reports whether every box is on a target.
func (b *Board) Solved() bool { return b.loose == 0 }

// Text returns the rows, joined by line feeds, without one at the end; read
// only and valid until the next move.
func (b *Board) Text() []byte { return b.cells }

// String returns a copy of Text.
func (b *Board) String() string { return string(b.cells) }

// Move moves the player, and a box before it, and reports whether anything
// moved.
func (b *Board) Move(d Direction) bool {
	step := b.step[d]
	to := b.player + step
	cell := b.cells[to]
	switch cell {
	case Box, BoxOnTarget:
		switch b.cells[to+step] {
		case Floor:
			b.cells[to+step] = Box
			b.loose++
		case Target:
			b.cells[to+step] = BoxOnTarget
		default:
			return false
		}
		if cell == Box {
			cell = Floor
			b.loose--
		} else {
			cell = Target
		}
	case Floor, Target:
	default:
		return false
	}
	// The two tiles of the player differ from what is below them alike.
	b.cells[to] = Player
	if cell == Target {
		b.cells[to] = PlayerOnTarget
	}
	if b.cells[b.player] == PlayerOnTarget {
		b.cells[b.player] = Target
	} else {
		b.cells[b.player] = Floor
	}
	b.player = to
	return true
}
