package board

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parse(t testing.TB, text string) *Board {
	t.Helper()
	b, problems := Parse(strings.Split(strings.Trim(text, "\n"), "\n"))
	require.Empty(t, problems)
	return b
}

// Promise: every kind of move does what the rules say; the row of a corridor
// tells all.
func TestMove(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		moved               bool
		loose               int
	}{
		{"walk", "#@ $.#", "# @$.#", true, 1},
		{"off and onto a target", "#+.$$#", "#.+$$#", true, 2},
		{"into a wall", "#$.+##", "#$.+##", false, 1},
		{"push", "#@$ .#", "# @$.#", true, 1},
		{"push onto a target", "#@$. #", "# @* #", true, 0},
		{"push off a target", "#@* $#", "# +$$#", true, 2},
		{"push from target to target", "#@*.$#", "# +*$#", true, 1},
		{"two boxes", "#@$$..", "#@$$..", false, 2},
		{"box against a wall", "#.@$##", "#.@$##", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Board{}
			b.Fill([]byte("######\n" + c.before + "\n######"))
			require.Equal(t, c.moved, b.Move(Right))
			require.Equal(t, "######\n"+c.after+"\n######", b.String())
			require.Equal(t, c.loose, b.Loose())
			require.Equal(t, c.loose == 0, b.Solved())
		})
	}
}

// Promise: the four directions are what their names say.
func TestDirections(t *testing.T) {
	b := parse(t, "#####\n#   #\n# @ #\n# $.#\n#####")
	for d, want := range map[Direction][2]int{Up: {1, 2}, Left: {2, 1}, Right: {2, 3}} {
		var c Board
		c.Set(b)
		require.True(t, c.Move(d))
		row, column := c.Player()
		require.Equal(t, want, [2]int{row, column}, Names()[d])
	}
	require.False(t, b.Move(Down), "the box is against the wall")
}

// Promise: everything wrong with a level is said, and a bad one never played.
func TestParseProblems(t *testing.T) {
	for text, want := range map[string][]string{
		"#####\n#@@x#\n#$$.#\n#####": {`row 2 has "x", which is not a cell`, "2 players, not one", "2 boxes for 1 targets"},
		"#####\n#@* #\n#####":        {"nothing to solve: no box is off its target"},
		"#####\n#@$.\n#####":         {"the player could walk out: no wall around it"},
		"#@$.#":                      {"the board is 1 × 5; sides are 3 to 64"},
	} {
		b, problems := Parse(strings.Split(text, "\n"))
		require.Nil(t, b)
		require.Equal(t, want, problems)
	}
}

// Promise: a level with ragged rows and outside corners plays.
func TestRagged(t *testing.T) {
	b := parse(t, "  ####\n###  #\n#@$. #\n######")
	require.True(t, b.Move(Right))
	require.True(t, b.Solved())
}

// Promise: no bytes make Parse panic, and what it lets through can be played.
func FuzzParse(f *testing.F) {
	f.Add("#####\n#@$.#\n#####", []byte{0, 1, 2, 3})
	f.Add("  ####\n###  #\n#@$. #\n######", []byte{3, 3, 0, 1})
	f.Fuzz(func(t *testing.T, text string, moves []byte) {
		b, problems := Parse(strings.Split(text, "\n"))
		if b == nil {
			require.NotEmpty(t, problems)
			return
		}
		count := func(cells string) (n int) {
			for _, c := range cells {
				n += strings.Count(b.String(), string(c))
			}
			return n
		}
		boxes, targets := count("$*"), count(".*+")
		for _, m := range moves {
			before := b.String()
			require.Equal(t, b.Move(Direction(m%4)), before != b.String())
		}
		require.Equal(t, []int{boxes, targets, 1}, []int{count("$*"), count(".*+"), count("@+")}, "nothing is lost")
		require.Equal(t, count("$"), b.Loose())
	})
}
