// Package solve finds the smallest number of moves that solves a level, by
// breadth-first search over where the player and the boxes are.
package solve

import (
	"math/bits"
	"slices"

	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
)

// MaxFloor is the largest number of floor cells that a Solver supports: a key has one bit
// per cell for the boxes, followed by the player's cell.
const MaxFloor = 58

// None is the neighbour of a cell in the direction of a wall.
const none = -1

// Solver searches for shortest solutions. Its zero value is ready to use. It is not safe for
// concurrent use.
type Solver struct {
	// Budget is the largest number of states of a search, each of which takes some 30 bytes.
	// If it is 0, only the limit of moves applies.
	Budget int

	next    [4][64]int8
	dead    uint64 // cells from which no target can be reached
	targets uint64
	index   []int8
	queue   []state
	seen    set
}

type state struct {
	boxes  uint64
	player int8
}

// key is unique within a level: see MaxFloor.
func (s state) key() uint64 { return s.boxes<<6 | uint64(s.player) }

// Optimum returns the smallest number of moves that solves b, if that is at
// most limit. It reports false if there is none, if it is not found within the
// Budget, or if b has more than MaxFloor cells of floor.
func (s *Solver) Optimum(b *board.Board, limit int) (int, bool) {
	start, ok := s.load(b)
	if !ok {
		return 0, false
	}
	if start.boxes == s.targets {
		return 0, true
	}
	if start.boxes&s.dead != 0 {
		return 0, false
	}
	s.seen.clear()
	s.seen.add(start.key())
	s.queue = append(s.queue[:0], start)
	for depth, from := 1, 0; depth <= limit && from < len(s.queue); depth++ {
		to := len(s.queue)
		for ; from < to; from++ {
			if s.expand(s.queue[from]) {
				return depth, true
			}
			if s.Budget > 0 && s.seen.size > s.Budget {
				return 0, false
			}
		}
	}
	return 0, false
}

// expand queues what follows at, and reports whether that solves the level.
func (s *Solver) expand(at state) bool {
	for d := range s.next {
		to := s.next[d][at.player]
		if to == none {
			continue
		}
		then := state{boxes: at.boxes, player: to}
		if at.boxes>>to&1 == 1 {
			beyond := s.next[d][to]
			if beyond == none || (at.boxes|s.dead)>>beyond&1 == 1 {
				continue
			}
			then.boxes ^= 1<<to | 1<<beyond
			if then.boxes == s.targets {
				return true
			}
		}
		if s.seen.add(then.key()) {
			s.queue = append(s.queue, then)
		}
	}
	return false
}

// What load reads of a cell.
const (
	floor = 1 << iota
	box
	target
)

var kinds = [256]byte{
	board.Floor: floor, board.Box: floor | box, board.BoxOnTarget: floor | box | target,
	board.Target: floor | target, board.Player: floor, board.PlayerOnTarget: floor | target,
}

// load numbers the floor cells and records what they contain. Levels are drawn until one can
// be solved, so it has few branches.
func (s *Solver) load(b *board.Board) (start state, ok bool) {
	text, count, boxes, targets := b.Text(), 0, uint64(0), uint64(0)
	s.index = slices.Grow(s.index[:0], len(text))[:len(text)]
	for at, cell := range text {
		kind := kinds[cell]
		boxes |= uint64(kind/box&1) << (count & 63)
		targets |= uint64(kind/target&1) << (count & 63)
		s.index[at] = none
		if kind != 0 {
			s.index[at] = int8(count)
			count++
		}
	}
	if count > MaxFloor {
		return state{}, false
	}
	s.targets = targets
	s.link(b.Height(), b.Width()+1)
	s.bury()
	row, column := b.Player()
	return state{boxes: boxes, player: s.index[row*(b.Width()+1)+column]}, true
}

// link records the neighbors in rows of so many characters. Cells on the rim are outside the
// walls, and lead nowhere.
func (s *Solver) link(height, line int) {
	s.next = unlinked
	for row := 1; row < height-1; row++ {
		for at := row*line + 1; at < (row+1)*line-2; at++ {
			cell := s.index[at]
			if cell == none {
				continue
			}
			s.next[board.Up][cell&63], s.next[board.Down][cell&63] = s.index[at-line], s.index[at+line]
			s.next[board.Left][cell&63], s.next[board.Right][cell&63] = s.index[at-1], s.index[at+1]
		}
	}
}

// unlinked are cells without neighbors.
var unlinked = func() (next [4][64]int8) {
	for d := range next {
		for cell := range next[d] {
			next[d][cell] = none
		}
	}
	return next
}()

// bury finds the dead cells, pulling boxes back from the targets.
func (s *Solver) bury() {
	alive := s.targets
	for todo := alive; todo != 0; {
		to := bits.TrailingZeros64(todo)
		todo &= todo - 1
		for d := range s.next {
			cell := s.next[d][to]
			if cell == none || s.next[d][cell&63] == none || alive>>cell&1 == 1 {
				continue
			}
			alive |= 1 << cell
			todo |= 1 << cell
		}
	}
	s.dead = ^alive
}
