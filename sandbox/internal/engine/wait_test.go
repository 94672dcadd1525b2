package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: the wall clock of an evaluation stands still while its guest waits for another
// machine, and runs on afterwards.
func TestTheClockStandsStill(t *testing.T) {
	now := time.Now()
	g := &guard{running: true, ctx: t.Context(), wall: time.Minute, deadline: now.Add(time.Minute)}
	kills := func(after time.Duration) bool {
		running, killing := g.look(now.Add(after))
		require.True(t, running)
		return killing
	}
	g.pause()
	require.False(t, kills(time.Hour))
	g.resume(time.Hour)
	require.False(t, kills(time.Hour+59*time.Second))
	g.tank = tank{reserve: new(counter)}
	require.True(t, kills(time.Hour+61*time.Second))
	require.Equal(t, TimedOut, g.killed.Kind)
}
