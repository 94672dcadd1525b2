// Package symmetry identifies levels that are equal up to rotation and reflection: a policy
// that has seen one of eight twins has seen them all.
package symmetry

import (
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// Orders is the number of symmetries of a square: four turns, each mirrored.
const Orders = 8

// Canonicaliser finds canonical forms. Its zero value is ready to use. It is not safe for
// concurrent use.
type Canonicaliser struct {
	height, width int           // of the boards of places
	places        [Orders][]int // where each twin has its characters from
	best          []byte
}

// Form returns the canonical form of b: the text that is the smallest of its
// twins'. It is valid until the next call.
func (c *Canonicaliser) Form(b *board.Board) []byte {
	if c.height != b.Height() || c.width != b.Width() {
		c.height, c.width = b.Height(), b.Width()
		for order := range c.places {
			c.places[order] = places(c.height, c.width, order)
		}
	}
	text, best := b.Text(), c.places[0]
	for _, next := range c.places[1:] {
		if less(text, next, best) {
			best = next
		}
	}
	c.best = pick(c.best[:0], text, best)
	return c.best
}

// less reports whether the twin with its characters from a is before the one from b. Most
// twins differ early.
func less(text []byte, a, b []int) bool {
	for i, at := range a {
		if x, y := text[at], text[b[i]]; x != y {
			return x < y
		}
	}
	return false
}

// pick appends the characters of text at some places.
func pick(dst, text []byte, from []int) []byte {
	for _, at := range from {
		dst = append(dst, text[at])
	}
	return dst
}

// Hash returns 64 well-mixed bits of the canonical form: equal for twins.
func (c *Canonicaliser) Hash(b *board.Board) uint64 {
	return random.Hash(c.Form(b))
}

// Twin appends the text of b under one of the symmetries; 0 is b itself.
func Twin(dst []byte, b *board.Board, order int) []byte {
	return pick(dst, b.Text(), places(b.Height(), b.Width(), order))
}

// places returns where in the text of a board its twin has its characters from.
func places(height, width, order int) (from []int) {
	transposed, flipRow, flipColumn := order&4 != 0, order&2 != 0, order&1 != 0
	rows, columns := height, width
	if transposed {
		rows, columns = width, height
	}
	for row := range rows {
		if row > 0 {
			from = append(from, width) // the end of the first row
		}
		for column := range columns {
			r, c := row, column
			if flipRow {
				r = rows - 1 - r
			}
			if flipColumn {
				c = columns - 1 - c
			}
			if transposed {
				r, c = c, r
			}
			from = append(from, r*(width+1)+c)
		}
	}
	return from
}
