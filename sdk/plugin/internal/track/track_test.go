package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/wire"
)

// Promise: what is asked is which slot is at work and for how long; the same
// slot in the next batch is another piece of work.
func TestPlace(t *testing.T) {
	var tr Tracker
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	require.Equal(t, wire.Place{}, tr.place(at(0)))
	tr.Enter(Together)
	tr.look(at(100))
	require.Equal(t, wire.Place{Busy: true, Together: true, For: 50 * time.Millisecond}, tr.place(at(150)))
	tr.Enter(0)
	require.Equal(t, wire.Place{Busy: true}, tr.place(at(200)))
	tr.Enter(65535)
	tr.look(at(300))
	tr.look(at(400))
	require.Equal(t, wire.Place{Busy: true, Slot: 65535, For: 2100 * time.Millisecond}, tr.place(at(2400)))
	tr.Leave()
	require.Equal(t, wire.Place{}, tr.place(at(2500)))
	tr.Enter(65535)
	require.Zero(t, tr.place(at(2600)).For)
}

// BenchmarkEnter is what each slot pays.
func BenchmarkEnter(b *testing.B) {
	var tr Tracker
	go tr.Watch()
	for b.Loop() {
		tr.Enter(17)
	}
}
