package plugincmd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: what a stranger called a file or wrote into a manifest is one line of
// the list and moves no cursor.
func TestCell(t *testing.T) {
	require.Equal(t, `maze\u001b[31m   sokoban`, cell("maze\x1b[31m\nsokoban"))
}
