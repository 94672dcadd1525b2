package graphview

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// board is a state that is a grid of characters.
type board struct {
	rows    []string
	columns int
	sokoban bool
}

// Largest and smallest boards that are drawn; other states are text.
const (
	minRows, maxRows = 2, 14
	maxColumns       = 16
)

// squares are the characters of a Sokoban board, with the classes of their parts.
var squares = map[rune][]string{
	'#': {"wall"}, ' ': {}, '-': {}, '.': {"target"},
	'@': {"player"}, '+': {"target", "player"}, '$': {"box"}, '*': {"box", "target"},
}

// picture returns a state as a board, or nil if it is not one: lines of one length.
func picture(state string) *board {
	b := &board{rows: strings.Split(strings.Trim(state, "\n"), "\n"), sokoban: true}
	b.columns = utf8.RuneCountInString(b.rows[0])
	if len(b.rows) < minRows || len(b.rows) > maxRows || b.columns < minRows || b.columns > maxColumns {
		return nil
	}
	for _, row := range b.rows {
		if utf8.RuneCountInString(row) != b.columns {
			return nil
		}
		for _, r := range row {
			if !unicode.IsPrint(r) {
				return nil
			}
			if _, ok := squares[r]; !ok {
				b.sokoban = false
			}
		}
	}
	return b
}

// svg draws the board with its top left corner at x, y: squares for Sokoban, else characters.
func (b *board) svg(x, y int) string {
	var out, walls strings.Builder
	fmt.Fprintf(&out, `<rect class="floor" x="%d" y="%d" width="%d" height="%d" rx="2"/>`, x, y, square*b.columns, square*len(b.rows))
	for i, row := range b.rows {
		if !b.sokoban {
			fmt.Fprintf(&out, `<text class="row" x="%d" y="%d" textLength="%d" xml:space="preserve">%s</text>`, x, y+square*i+7, square*b.columns, template.HTMLEscapeString(row))
			continue
		}
		for k, r := range []rune(row) {
			for _, class := range squares[r] {
				if class == "wall" {
					fmt.Fprintf(&walls, "M%d %dh%dv%dh-%dz", x+square*k, y+square*i, square, square, square)
					continue
				}
				out.WriteString(part(class, x+square*k, y+square*i))
			}
		}
	}
	if walls.Len() > 0 {
		fmt.Fprintf(&out, `<path class="wall" d="%s"/>`, walls.String())
	}
	return out.String() + "\n"
}

// part draws what stands on a square.
func part(class string, x, y int) string {
	switch class {
	case "box":
		return fmt.Sprintf(`<path class="box" d="M%d %dh6v6h-6z"/>`, x+1, y+1)
	case "target":
		return fmt.Sprintf(`<circle class="target" cx="%d" cy="%d" r="1.8"/>`, x+square/2, y+square/2)
	}
	return fmt.Sprintf(`<circle class="player" cx="%d" cy="%d" r="3"/>`, x+square/2, y+square/2)
}
