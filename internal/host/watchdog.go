package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// whereDeadline is how long a plug-in that missed its deadline has to report which slot
// is stuck. A stopped process does not answer.
const whereDeadline = time.Second

// errLate is the error of a batch whose process was killed because it was late.
var errLate = errors.New("too late")

const (
	remembered = 256 // number of recent batch durations kept
	refresh    = 64  // number of batches between two updates of the limit
	slack      = 20  // a batch may take this many times the 99th percentile
)

// watchdog learns how long a batch may take: never less than configured, and more for a
// plug-in that is always slow.
type watchdog struct {
	configured time.Duration
	limit      time.Duration
	times      []time.Duration
	seen       int
}

func newWatchdog(configured time.Duration) *watchdog {
	return &watchdog{configured: configured, limit: configured}
}

// observe records the duration of an answered batch.
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

// overdue kills a process because batch seq takes too long, unless the reply arrives
// while overdue asks the plug-in where it is. Through is the batch's stream.
func (s *session) overdue(seq uint64, slots int, through stream) {
	if s.waiting.Load() != seq {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), whereDeadline)
	defer cancel()
	if m, err := pb.NewEnvironmentClient(s.conn).Where(ctx, &pb.WhereRequest{}); err == nil {
		place := wire.DecodePlace(m, slots).String()
		s.place.Store(&place)
	}
	if s.waiting.CompareAndSwap(seq, 0) {
		s.expire()
		_ = through.Close()
	}
}
