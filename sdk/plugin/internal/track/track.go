// Package track knows which slot of an environment is at work and since when,
// at the price of one store a slot: what reads a clock is a goroutine that
// looks now and then.
package track

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/internal/wire"
)

// Together is the slot of an environment that steps all of them at once.
const Together = -1

// tick lies between two looks; by so much a time is too short at most.
const tick = 100 * time.Millisecond

const (
	slotBits = 20 // of a mark; above them stands the number of the operation
	together = 1<<slotBits - 1
)

// Tracker follows one environment. One goroutine says what is at work, any may
// ask. The zero Tracker is idle.
type Tracker struct {
	operations uint64
	mark       atomic.Uint64 // 0 = nothing is at work

	mu    sync.Mutex
	seen  uint64 // the mark of the last look …
	since time.Time
}

// Enter says that the work on slot, or Together, begins.
func (t *Tracker) Enter(slot int) {
	t.operations++
	code := uint64(together)
	if slot != Together {
		code = uint64(slot) + 1
	}
	t.mark.Store(t.operations<<slotBits | code)
}

// Leave says that the batch is done.
func (t *Tracker) Leave() { t.mark.Store(0) }

// Watch looks for ever.
func (t *Tracker) Watch() {
	for now := range time.Tick(tick) {
		t.look(now)
	}
}

// look notes when something other than before was at work.
func (t *Tracker) look(now time.Time) {
	mark := t.mark.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if mark != t.seen {
		t.seen, t.since = mark, now
	}
}

// Place is what is at work, and for how long, at least.
func (t *Tracker) Place() wire.Place { return t.place(time.Now()) }

func (t *Tracker) place(now time.Time) wire.Place {
	t.look(now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == 0 {
		return wire.Place{}
	}
	p := wire.Place{Busy: true, For: now.Sub(t.since)}
	if code := t.seen & together; code == together {
		p.Together = true
	} else {
		p.Slot = int(code) - 1
	}
	return p
}
