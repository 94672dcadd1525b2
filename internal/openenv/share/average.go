package share

import "time"

// average is a moving average of the duration of batches; the newest has weight 1/4.
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

// linger returns how long a batch may wait: a quarter of the average duration. Before
// the first batch, which may take a second, it is the maximum.
func (a *average) linger() time.Duration {
	if !a.seen {
		return MaxLinger
	}
	return min(a.value/4, MaxLinger)
}
