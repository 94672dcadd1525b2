// Package track records which slot of an environment is working and since when. It
// costs one store per slot: only a goroutine that samples now and then reads a
// clock.
package track

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/internal/wire"
)

// Together means all slots, of an environment that steps them at once.
const Together = -1

// tick is the time between two samples, and how much too short a measured time can
// be.
const tick = 100 * time.Millisecond

const (
	slotBits = 20 // the low bits of a mark; the bits above are the number of the operation
	together = 1<<slotBits - 1
)

// Tracker follows one environment. One goroutine calls Enter and Leave; any
// goroutine may call Place. The zero Tracker is idle.
type Tracker struct {
	operations uint64
	mark       atomic.Uint64 // 0 = idle

	mu    sync.Mutex
	seen  uint64 // the mark at the last sample
	since time.Time
}

// Enter records that work on slot, or on Together, begins.
func (t *Tracker) Enter(slot int) {
	t.operations++
	code := uint64(together)
	if slot != Together {
		code = uint64(slot) + 1
	}
	t.mark.Store(t.operations<<slotBits | code)
}

// Leave records that the batch is done.
func (t *Tracker) Leave() { t.mark.Store(0) }

// Watch samples forever.
func (t *Tracker) Watch() {
	for now := range time.Tick(tick) {
		t.look(now)
	}
}

// look samples the mark and records when it changed.
func (t *Tracker) look(now time.Time) {
	mark := t.mark.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if mark != t.seen {
		t.seen, t.since = mark, now
	}
}

// Place returns the slot that is working and a lower bound of how long it has
// been.
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
