package share

import "time"

// average follows how long batches take; the newest weighs a quarter.
type average struct {
	value time.Duration
	seen  bool
}

func (a *average) observe(d time.Duration) {
	if !a.seen {
		a.value, a.seen = d, true
		return
	}
	a.value += (d - a.value) / 4
}

// linger is how long a batch may wait: a quarter of what one takes. Before the
// first is known, which may take a second, it is all that there is.
func (a *average) linger() time.Duration {
	if !a.seen {
		return MaxLinger
	}
	return min(a.value/4, MaxLinger)
}
