package engine

import "github.com/tetratelabs/wazero/api"

// tank is the fuel of an instance: a slice in the guest's counter and the rest
// in reserve.
type tank struct {
	fuel, reserve api.MutableGlobal
	slice         uint64
}

func (t tank) fill(n uint64) {
	first := min(n, t.slice)
	t.fuel.Set(first)
	t.reserve.Set(n - first)
}

func (t tank) left() int64 { return int64(t.fuel.Get() + t.reserve.Get()) }

// take takes n, of which there must be as much, from the reserve first: the
// slice is the guest's.
func (t tank) take(n uint64) {
	kept := min(n, t.reserve.Get())
	t.reserve.Set(t.reserve.Get() - kept)
	t.fuel.Set(t.fuel.Get() - (n - kept))
}

// drain leaves so little that no slice is handed out any more. The guest may
// be running: what it writes to its counter is at most a slice late, and what
// it is about to write to its reserve is overwritten when this is done again.
func (t tank) drain() {
	below := int64(-1 << 61) // further down a subtraction could wrap around
	t.reserve.Set(uint64(below))
	t.fuel.Set(^uint64(0)) // −1: it looks into the reserve soon
}
