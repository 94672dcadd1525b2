package world

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
)

// Promise: the states of starts are bounded, and a start uses the same fuel and gives the same
// bytes whether its state is new, kept or forgotten.
func TestStartsAreForgotten(t *testing.T) {
	e, r := open(t, options(), counting().bytes(), 4), env.Reply{}
	fuel := uint64(0)
	reset := func(seed uint64) {
		b, before := all(e, env.Reset, 0), e.Fuel()
		for i := range b.Seeds {
			b.Seeds[i] = seed
		}
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Equal(t, []string{"ab", "ab", "ab", "ab"}, r.Anchor)
		if used := e.Fuel() - before; fuel == 0 {
			fuel = used
		} else if used != fuel {
			require.Equal(t, fuel, used, "seed %d", seed)
		}
	}
	for seed := range uint64(mostStarts + 100) {
		reset(seed)
	}
	require.Len(t, e.starts.known, mostStarts)
	_, states := e.starts.states.Used()
	require.Equal(t, mostStarts, states)
	reset(0)                                                                     // forgotten
	reset(mostStarts)                                                            // kept
	e.starts.known[startKey{0, env.WantFeatures | env.WantText}].state.Release() // no room for it
	reset(0)
}

// Promise: every worker is played once, first by the CPU that played it the last time.
func TestShifts(t *testing.T) {
	s := shifts{cpu: []int{0, 1, 0, 1}, busy: make([]bool, 4)}
	var order []int
	for _, here := range []int{1, 0, 1, 1, 1} {
		order = append(order, s.take(here))
	}
	require.Equal(t, []int{1, 0, 3, 2, -1}, order)
	require.Equal(t, []int{0, 1, 1, 1}, s.cpu)
	played := make([]int, 4)
	s.play(func(n int) { played[n]++ })
	require.Equal(t, []int{1, 1, 1, 1}, played)
}
