// Package lake is a frozen lake as Gymnasium has it: a square or rectangle of
// cells, of which some are holes, and what a move does there.
package lake

// The cells of a map.
const (
	Start = 'S'
	Ice   = 'F'
	Hole  = 'H'
	Goal  = 'G'
)

// Direction is a move.
type Direction int

// The moves, in Gymnasium's order: the next one is the next turn to the left.
const (
	Left Direction = iota
	Down
	Right
	Up
)

// Names returns the names of the moves.
func Names() []string { return []string{"left", "down", "right", "up"} }

// Outcomes is how many places a move on slippery ice may lead to, each as
// likely: those of Aim.
const Outcomes = 3

// Aim returns the direction in which outcome 0, 1 or 2 of a move goes on
// slippery ice: one side, the intended one, the other side. Gymnasium's order.
func (d Direction) Aim(outcome int) Direction { return (d + Direction(outcome) + 3) % 4 }

// Lake is a map. It never changes once it is made, and slots share it.
type Lake struct {
	Rows, Columns int
	Cells         []byte // row by row
	Begin         int    // the cell of the start
	// Shortest is the number of moves of the shortest way to a goal on ice
	// that is not slippery; −1 if there is none.
	Shortest int
}

// New makes a map of its cells, with one start.
func New(rows, columns int, cells []byte) *Lake {
	l := &Lake{Rows: rows, Columns: columns, Cells: cells}
	for at, cell := range cells {
		if cell == Start {
			l.Begin = at
		}
	}
	l.Shortest = l.shortest()
	return l
}

// Go returns where a move in a direction leads: to the neighbour, or nowhere at
// the edge.
func (l *Lake) Go(at int, d Direction) int {
	row, column := at/l.Columns, at%l.Columns
	switch d {
	case Left:
		column = max(column-1, 0)
	case Down:
		row = min(row+1, l.Rows-1)
	case Right:
		column = min(column+1, l.Columns-1)
	case Up:
		row = max(row-1, 0)
	}
	return row*l.Columns + column
}

// Ends reports whether an episode ends at a cell.
func (l *Lake) Ends(at int) bool { return l.Cells[at] == Goal || l.Cells[at] == Hole }

// shortest is a breadth-first search.
func (l *Lake) shortest() int {
	seen := make([]bool, len(l.Cells))
	seen[l.Begin] = true
	layer := []int{l.Begin}
	for moves := 0; len(layer) > 0; moves++ {
		var next []int
		for _, at := range layer {
			if l.Cells[at] == Goal {
				return moves
			}
			if l.Cells[at] == Hole {
				continue
			}
			for d := Left; d <= Up; d++ {
				if to := l.Go(at, d); !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		layer = next
	}
	return -1
}

// Append appends the rows to dst, joined by line feeds, with @ where the player
// stands: X in a hole, * at the goal. Two texts are the same if and only if map
// and place are.
func (l *Lake) Append(dst []byte, player int) []byte {
	from := len(dst)
	for row := range l.Rows {
		if row > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, l.Cells[row*l.Columns:(row+1)*l.Columns]...)
	}
	mark := byte('@')
	switch l.Cells[player] {
	case Hole:
		mark = 'X'
	case Goal:
		mark = '*'
	}
	dst[from+player+player/l.Columns] = mark
	return dst
}
