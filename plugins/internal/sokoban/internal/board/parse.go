package board

import (
	"bytes"
	"fmt"
)

// MaxSide bounds the height and the width of a board.
const MaxSide = 64

// Parse reads a level and returns everything that is wrong with it: in rows of
// different lengths the missing cells are outside. A level has one player, as
// many targets as boxes, at least one box off its target, and walls around all
// that the player could reach.
func Parse(rows []string) (*Board, []string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	if len(rows) < 3 || width < 3 || len(rows) > MaxSide || width > MaxSide {
		return nil, []string{fmt.Sprintf("the board is %d × %d; sides are 3 to %d", len(rows), width, MaxSide)}
	}
	b := &Board{height: len(rows), width: width, player: -1, step: [4]int{-(width + 1), width + 1, -1, 1}}
	var problems []string
	players, boxes, targets := 0, 0, 0
	for i, r := range rows {
		if i > 0 {
			b.cells = append(b.cells, rowEnd)
		}
		for j := range width {
			cell := byte(Floor)
			if j < len(r) {
				cell = r[j]
			}
			switch cell {
			case Wall, Floor:
			case Player, PlayerOnTarget:
				players++
				b.player = len(b.cells)
			case Box:
				boxes++
				b.loose++
			case BoxOnTarget:
				boxes++
			case Target:
			default:
				problems = append(problems, fmt.Sprintf("row %d has %q, which is not a cell", i+1, string(cell)))
			}
			if cell == Target || cell == BoxOnTarget || cell == PlayerOnTarget {
				targets++
			}
			b.cells = append(b.cells, cell)
		}
	}
	if players != 1 {
		problems = append(problems, fmt.Sprintf("%d players, not one", players))
	}
	if boxes != targets {
		problems = append(problems, fmt.Sprintf("%d boxes for %d targets", boxes, targets))
	}
	if b.loose == 0 {
		problems = append(problems, "nothing to solve: no box is off its target")
	}
	if len(problems) == 0 && !b.enclosed() {
		problems = append(problems, "the player could walk out: no wall around it")
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return b, nil
}

// enclosed reports whether what the player could reach, were there no boxes,
// stays off the rim. Moves then need no check of the board's bounds.
func (b *Board) enclosed() bool {
	seen := make([]bool, len(b.cells))
	todo := []int{b.player}
	seen[b.player] = true
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		row, column := at/(b.width+1), at%(b.width+1)
		if row == 0 || row == b.height-1 || column == 0 || column == b.width-1 {
			return false
		}
		for _, step := range b.step {
			if to := at + step; !seen[to] && b.cells[to] != Wall {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return true
}

// Fill makes b the level whose cells are given, rows joined by line feeds,
// without checking it: for levels that are right by construction.
func (b *Board) Fill(cells []byte) {
	width := bytes.IndexByte(cells, rowEnd)
	b.cells = append(b.cells[:0], cells...)
	b.width, b.height = width, (len(cells)+1)/(width+1)
	b.step = [4]int{-(width + 1), width + 1, -1, 1}
	if b.player = bytes.IndexByte(cells, Player); b.player < 0 {
		b.player = bytes.IndexByte(cells, PlayerOnTarget)
	}
	b.loose = bytes.Count(cells, []byte{Box})
}
