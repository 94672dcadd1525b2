package symmetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/board"
	"github.com/merit-rl/merit/plugins/internal/sokoban/internal/symmetry"
)

const level = "######\n# @$.#\n# #  #\n#    #\n######"

// Promise: the eight twins of a level have one canonical form and one hash,
// and are eight.
func TestTwins(t *testing.T) {
	var b, twin board.Board
	b.Fill([]byte(level))
	var c symmetry.Canonicaliser
	form, hash := string(c.Form(&b)), c.Hash(&b)
	seen := make(map[string]bool)
	for order := range symmetry.Orders {
		text := symmetry.Twin(nil, &b, order)
		seen[string(text)] = true
		twin.Fill(text)
		require.Equal(t, form, string(c.Form(&twin)))
		require.Equal(t, hash, c.Hash(&twin))
	}
	require.Len(t, seen, symmetry.Orders)
	require.Contains(t, seen, level, "a level is its own twin")
}

// Promise: levels that differ have hashes that differ.
func TestDifferent(t *testing.T) {
	var a, b board.Board
	a.Fill([]byte(level))
	b.Fill([]byte("######\n#@ $.#\n# #  #\n#    #\n######"))
	var c symmetry.Canonicaliser
	require.NotEqual(t, c.Hash(&a), c.Hash(&b))
}
