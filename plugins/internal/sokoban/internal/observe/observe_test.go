package observe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/observe"
)

// draw shows the planes of a view as rows of digits, a blank line between.
func draw(view observe.View, b *board.Board) (text string) {
	shape := view.Shape(b.Height(), b.Width())
	tensor := make([]float32, shape[0]*shape[1]*shape[2])
	var cells observe.Cells
	view.Load(&cells, shape, b)
	view.Fill(tensor, shape, b, &cells)
	for i, v := range tensor {
		if i > 0 && i%shape[2] == 0 {
			text += "\n"
		}
		if i > 0 && i%(shape[1]*shape[2]) == 0 {
			text += "\n"
		}
		text += map[float32]string{0: ".", 1: "1"}[v]
	}
	return text
}

// Promise: ego has the player in the middle of floor, box and target planes.
func TestEgo(t *testing.T) {
	var b board.Board
	b.Fill([]byte("#####\n#@$.#\n#*# #\n# # #\n#####"))
	require.Equal(t, []int{3, 5, 5}, observe.Views()[0].Shape(5, 5))
	require.Equal(t, `.....
.....
..111
..1.1
..1.1

.....
.....
...1.
..1..
.....

.....
.....
....1
..1..
.....`, draw(observe.Views()[0], &b))
	b.Fill([]byte("#####\n# $.#\n#*# #\n# #+#\n#####"))
	require.Equal(t, `111..
1.1..
1.1..
.....
.....

.1...
1....
.....
.....
.....

..1..
1....
..1..
.....
.....`, draw(observe.Views()[0], &b))
}

// Promise: grid has wall, box, target and player planes as the board lies.
func TestGrid(t *testing.T) {
	var b board.Board
	b.Fill([]byte("####\n#+$#\n#.*#\n####"))
	require.Equal(t, `1111
1..1
1..1
1111

....
..1.
..1.
....

....
.1..
.11.
....

....
.1..
....
....`, draw(observe.Views()[1], &b))
}

// Promise: the recommended network's input: 147 values for boards of 6 × 6.
func TestEgoOfSix(t *testing.T) {
	require.Equal(t, []int{3, 7, 7}, observe.Views()[0].Shape(6, 6))
}
