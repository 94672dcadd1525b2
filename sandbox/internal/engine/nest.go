package engine

import "github.com/merit-rl/merit/sandbox/internal/engine/wasi"

// Channel is where a guest may have programs run beside itself: Instance.Channel
// may hold one.
type Channel = wasi.Channel

// Nest runs work, which calls into another instance, from within a host
// function of i. Its fuel is at most what i has left, and is taken from it; it
// is bounded by the same clock and context. The Stop says how the other's call
// ended early; where that is because i has no more fuel, or because i is to be
// stopped, Nest does not return.
func (i *Instance) Nest(other *Instance, b Budget, work func() *Stop) (used uint64, stop *Stop) {
	left, _ := i.watch.left(i.tank)
	rest := uint64(max(left-int64(i.hostFuel), 0))
	short := b.Fuel > rest
	b.Fuel = min(b.Fuel, rest)
	other.fill(b)
	i.guard.turn(other.tank)
	other.watch = &i.guard
	stop = Guarded(work)
	other.watch = &other.guard
	used, killed := i.guard.back(i.tank, other.used, b.Fuel)
	if killed != nil {
		i.end(killed)
	}
	if stop == nil && used > b.Fuel {
		stop = &Stop{Kind: OutOfFuel}
	}
	used = min(used, b.Fuel)
	if short && stop != nil && stop.Kind == OutOfFuel {
		i.end(stop)
	}
	return used, stop
}

// Guarded runs work and returns how it ended: a Charge outside of a call into
// the guest that finds no fuel left is the end of work as well.
func Guarded(work func() *Stop) (stop *Stop) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Stop:
			stop = r
		default:
			panic(r)
		}
	}()
	return work()
}

// turn has the guard watch over another tank: that of the guest that runs now.
func (g *guard) turn(t tank) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tank = t
}

// back is turn to the guard's own tank, from which what the other has used, at
// most so much, is taken unless the watchdog is draining it.
func (g *guard) back(own tank, other func() uint64, most uint64) (used uint64, killed *Stop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tank, used = own, other()
	if g.killed == nil {
		own.take(min(used, most))
	}
	return used, g.killed
}

// left is what a tank that the guard watches over holds, and whether its guest
// was killed: the watchdog may be draining it.
func (g *guard) left(t tank) (int64, *Stop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return t.left(), g.killed
}
