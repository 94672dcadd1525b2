// Package generate draws Sokoban levels from seeds. A level is solvable by
// construction: it is drawn until a search has solved it.
package generate

import (
	"fmt"

	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/solve"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/symmetry"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// The sides that a generated level may have, walls around it included.
const (
	MinSide = 5
	MaxSide = 8
)

// patience is the largest number of draws for a seed. The rarest useful levels take some
// thousand.
const patience = 1 << 18

// Range is an inclusive range.
type Range struct{ Min, Max int }

// Config determines which levels are drawn.
type Config struct {
	Side    int
	Boxes   int
	Walls   Range // inside the walls around the level
	Optimum Range // moves of the shortest solution
	// Accept reports whether a level of this symmetry hash is wanted, which is
	// how splits are kept apart; nil wants all.
	Accept func(hash uint64) bool
}

// Generator draws levels. It is not safe for concurrent use.
type Generator struct {
	cfg    Config
	solver solve.Solver
	form   symmetry.Canonicaliser
	empty  []byte // a board with walls around it
	inner  []int  // positions of its inner cells
	cells  []byte
	free   []int // the inner cells, shuffled from the left
}

// New returns a generator.
func New(cfg Config) *Generator {
	g := &Generator{cfg: cfg}
	for row := range cfg.Side {
		if row > 0 {
			g.empty = append(g.empty, '\n')
		}
		for column := range cfg.Side {
			if row == 0 || column == 0 || row == cfg.Side-1 || column == cfg.Side-1 {
				g.empty = append(g.empty, board.Wall)
				continue
			}
			g.inner = append(g.inner, len(g.empty))
			g.empty = append(g.empty, board.Floor)
		}
	}
	g.free = make([]int, 0, len(g.inner)+cfg.Boxes) // draw appends to it
	return g
}

// Level fills b with the level of a seed and returns the moves of its shortest solution. The
// level is a pure function of the seed and the generator's Config that must never
// change (see testdata/levels.golden). Level returns an error if it finds none,
// because hardly any level fits the Config.
func (g *Generator) Level(seed uint64, b *board.Board) (optimum int, err error) {
	r := random.Source(seed)
	for range patience {
		g.draw(&r, b)
		if g.cfg.Accept != nil && !g.cfg.Accept(g.form.Hash(b)) {
			continue
		}
		if moves, ok := g.solver.Optimum(b, g.cfg.Optimum.Max); ok && moves >= g.cfg.Optimum.Min {
			return moves, nil
		}
	}
	return 0, fmt.Errorf("seed %d: no level of %d × %d with %d boxes, %d to %d walls and a shortest solution of %d to %d moves in %d draws",
		seed, g.cfg.Side, g.cfg.Side, g.cfg.Boxes, g.cfg.Walls.Min, g.cfg.Walls.Max, g.cfg.Optimum.Min, g.cfg.Optimum.Max, patience)
}

// draw makes a random level: walls, targets, boxes off the targets, and the
// player, who may stand on one.
func (g *Generator) draw(r *random.Source, b *board.Board) {
	g.cells, g.free = append(g.cells[:0], g.empty...), append(g.free[:0], g.inner...)
	walls := g.cfg.Walls.Min + r.Below(g.cfg.Walls.Max-g.cfg.Walls.Min+1)
	targets := walls + g.cfg.Boxes
	boxes := targets + g.cfg.Boxes
	g.shuffle(r, boxes)
	for i, at := range g.free[:boxes] {
		switch {
		case i < walls:
			g.cells[at] = board.Wall
		case i < targets:
			g.cells[at] = board.Target
		default:
			g.cells[at] = board.Box
		}
	}
	// The player takes the place of a target or of floor.
	standable := append(g.free[boxes:], g.free[walls:targets]...)
	at := standable[r.Below(len(standable))]
	if g.cells[at] == board.Target {
		g.cells[at] = board.PlayerOnTarget
	} else {
		g.cells[at] = board.Player
	}
	b.Fill(g.cells)
}

// shuffle puts n random cells first.
func (g *Generator) shuffle(r *random.Source, n int) {
	for i := range n {
		j := i + r.Below(len(g.free)-i)
		g.free[i], g.free[j] = g.free[j], g.free[i]
	}
}
