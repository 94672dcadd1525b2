package judge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"
)

func note(title string) world.Call {
	return world.Call{Tool: world.AddNote, Args: world.Args{Title: title}}
}

// Promise: exactly the wanted effects are clean, in any order unless there is
// one; what is too much, double or undone stays a side effect.
func TestJudge(t *testing.T) {
	a, b, c := note("a"), note("b"), note("c")
	for name, x := range map[string]struct {
		want, seen []world.Call
		ordered    bool
		clean      bool
		match      float64
	}{
		"nothing wanted":            {clean: true, match: 1},
		"all":                       {want: []world.Call{a, b}, seen: []world.Call{a, b}, clean: true, match: 1},
		"another order":             {want: []world.Call{a, b}, seen: []world.Call{b, a}, clean: true, match: 1},
		"in order":                  {want: []world.Call{a, b}, seen: []world.Call{a, b}, ordered: true, clean: true, match: 1},
		"out of order":              {want: []world.Call{a, b}, seen: []world.Call{b, a}, ordered: true, match: 1.0 / 3},
		"out of order, then again":  {want: []world.Call{a, b}, seen: []world.Call{b, a, b}, ordered: true, match: 2.0 / 3},
		"one is missing":            {want: []world.Call{a, b}, seen: []world.Call{a}, match: 0.5},
		"one too much":              {want: []world.Call{a, b}, seen: []world.Call{a, c, b}, match: 2.0 / 3},
		"one too much, in an order": {want: []world.Call{a, b}, seen: []world.Call{a, c, b}, ordered: true, match: 2.0 / 3},
		"twice":                     {want: []world.Call{a}, seen: []world.Call{a, a}, match: 0.5},
		"twice wanted":              {want: []world.Call{a, a}, seen: []world.Call{a, a}, clean: true, match: 1},
		"for nothing":               {seen: []world.Call{a}, match: 0},
	} {
		j := New(x.want, x.ordered)
		for _, effect := range x.seen {
			j.See(effect)
		}
		require.Equal(t, x.clean, j.Clean(), name)
		require.InDelta(t, x.match, j.CallMatch(), 1e-12, name)
		require.Equal(t, x.clean, j.CallMatch() == 1, name)
		require.Equal(t, len(x.seen), j.Matched()+j.Extra(), name)
	}
}
