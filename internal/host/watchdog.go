package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// whereDeadline is how long a plug-in whose time is over has to say which slot
// is stuck; one that is stopped says nothing.
const whereDeadline = time.Second

// errLate is that of a batch whose process was killed for being late.
var errLate = errors.New("too late")

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

// overdue ends a process because batch seq takes too long, unless the answer
// comes while the plug-in is asked where it is. Through is the batch's stream.
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
