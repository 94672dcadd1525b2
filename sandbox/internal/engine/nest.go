package engine

import "github.com/merit-rl/merit/sandbox/internal/engine/wasi"

// Channel lets a guest run other programs. Instance.Channel may hold one.
type Channel = wasi.Channel

// Nest runs work, which calls into another instance, from within a host
// function of i. The other instance gets at most the fuel that i has left,
// which is taken from i, and the same clock and context. The Stop is how the
// other call stopped early. If i itself has no more fuel or must stop, Nest
// does not return.
func (i *Instance) Nest(other *Instance, b Budget, work func() *Stop) (used uint64, stop *Stop) {
	return i.nest(other, b, other.fill, work)
}

// Again is Nest for an instance whose call has not returned, because a host function of it
// waits in another goroutine: work lets that continue.
func (i *Instance) Again(other *Instance, b Budget, work func() *Stop) (used uint64, stop *Stop) {
	return i.nest(other, b, func(b Budget) {
		other.budget, other.hostFuel = b.Fuel, 0
		other.tank.fill(b.Fuel)
	}, work)
}

func (i *Instance) nest(other *Instance, b Budget, fill func(Budget), work func() *Stop) (used uint64, stop *Stop) {
	left, _ := i.watch.left(i.tank)
	rest := uint64(max(left-int64(i.hostFuel), 0))
	short := b.Fuel > rest
	b.Fuel = min(b.Fuel, rest)
	fill(b)
	i.watch.turn(other.tank)
	other.watch = i.watch
	stop = Guarded(work)
	other.watch = &other.guard
	used, killed := i.watch.back(i.tank, other.used, b.Fuel)
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

// Guarded runs work and returns how it stopped. A Charge outside of a call into
// the guest that finds no fuel also stops work.
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

// turn makes the guard watch another tank: that of the guest that now runs.
func (g *guard) turn(t tank) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tank = t
}

// back makes the guard watch its own tank again, and takes from it what the
// other guest used, at most most, unless the watchdog is draining it.
func (g *guard) back(own tank, other func() uint64, most uint64) (used uint64, killed *Stop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tank, used = own, other()
	if g.killed == nil {
		own.take(min(used, most))
	}
	return used, g.killed
}

// left returns the fuel in a tank that the guard watches, and the Stop if its
// guest was killed: the watchdog may be draining the tank.
func (g *guard) left(t tank) (int64, *Stop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return t.left(), g.killed
}
