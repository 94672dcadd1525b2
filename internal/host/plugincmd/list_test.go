package plugincmd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: an untrusted file name or manifest shows as one line of the list and cannot
// move the cursor.
func TestCell(t *testing.T) {
	require.Equal(t, `maze\u001b[31m   sokoban`, cell("maze\x1b[31m\nsokoban"))
}
