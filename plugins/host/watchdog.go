package host

import (
	"slices"
	"time"
)

const (
	remembered = 256 // batches whose time is known
	refresh    = 64  // batches between two looks at them
	slack      = 20  // times the 99th percentile is still no hang
)

// watchdog learns how long a batch may take: never less than configured, more
// for a plug-in that is slow but steady.
type watchdog struct {
	configured time.Duration
	limit      time.Duration
	times      []time.Duration
	seen       int
}

func newWatchdog(configured time.Duration) *watchdog {
	return &watchdog{configured: configured, limit: configured}
}

// observe notes a batch that was answered.
func (w *watchdog) observe(d time.Duration) {
	if len(w.times) < remembered {
		w.times = append(w.times, d)
	} else {
		w.times[w.seen%remembered] = d
	}
	w.seen++
	if w.seen%refresh == 0 {
		sorted := slices.Sorted(slices.Values(w.times))
		w.limit = max(w.configured, slack*sorted[len(sorted)*99/100])
	}
}
