package tenant

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/base/cpus"
)

// Scheduler decides whose evaluation runs next. It shares fuel fairly between tenants, whatever
// the order of arrival. It is safe for concurrent use.
//
// A tenant without a running evaluation gets a slot at once, even if all slots are taken:
// guests of different tenants run in different processes, between which the kernel shares the
// CPUs. Evaluations beyond a tenant's first share the slots by start-time fair queueing (Goyal,
// Vin and Cheng 1996). They share all slots but one while a tenant that has just left may
// return. A tenant's virtual fuel grows by the fuel of its evaluations divided by its weight,
// and the tenant with the least goes next. A tenant that was idle resumes at the virtual fuel
// of the others, so idle time is not saved up. A running evaluation counts with the tenant's
// usual cost until it ends.
type Scheduler struct {
	slots int

	mu      sync.Mutex
	flows   map[*account]*flow
	ready   flowHeap // flows with a waiting turn that only lack a slot
	running int
	present float64 // the virtual fuel at which an idle tenant resumes
	usual   float64 // usual cost of an evaluation
	left    []*flow // flows that ran out of work and may have resumed

	turns sync.Pool // pool of *turn
}

// turn is a waiting or running evaluation.
type turn struct {
	start    chan struct{} // receives one value when the turn may run
	started  bool
	reserved float64 // cost that was assumed in advance
}

// NewScheduler returns a scheduler that runs the given number of evaluations at the same time.
// 0 means one per CPU.
func NewScheduler(slots int) *Scheduler {
	if slots <= 0 {
		slots = cpus.Count()
	}
	s := &Scheduler{slots: slots, flows: map[*account]*flow{}}
	s.turns.New = func() any { return &turn{start: make(chan struct{}, 1)} }
	return s
}

// enter waits for the turn of an evaluation of f and returns its assumed cost, or the error of
// ctx.
func (s *Scheduler) enter(ctx context.Context, f *flow) (reserved float64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	now := time.Now()
	s.mu.Lock()
	if f.waiting.Len() == 0 && (f.running == 0 || s.running < s.room(now) && f.running < f.concurrency) {
		f.virtual = max(f.virtual, s.present)
		if len(s.ready) == 0 {
			s.present = f.virtual // no turn waits, so none falls behind
		}
		reserved = s.begin(f)
		s.mu.Unlock()
		return reserved, nil
	}
	t := s.turns.Get().(*turn)
	t.started = false
	place := f.waiting.PushBack(t)
	s.offer(f)
	s.mu.Unlock()
	select {
	case <-t.start:
		reserved = t.reserved
		s.turns.Put(t)
		return reserved, nil
	case <-ctx.Done():
	}
	s.abandon(f, t, place)
	return 0, context.Cause(ctx)
}

// abandon cancels a turn whose caller stopped waiting.
func (s *Scheduler) abandon(f *flow, t *turn, place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.started { // it started just now
		<-t.start
		s.end(f, t.reserved, 0, time.Now())
	} else {
		f.waiting.Remove(place)
		if f.waiting.Len() == 0 && f.at >= 0 {
			heap.Remove(&s.ready, f.at)
		}
	}
	s.turns.Put(t)
}

// leave ends an evaluation of f with its actual cost.
func (s *Scheduler) leave(f *flow, reserved, cost float64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const pace = 1.0 / 8
	f.usual += (cost - f.usual) * pace
	s.usual += (cost - s.usual) * pace
	s.end(f, reserved, cost, now)
}

// absence is how long a tenant that ran out of work is expected to return.
const absence = time.Second

// room returns how many evaluations may run before all but a tenant's first have to wait. While
// a tenant that ran a moment ago has nothing to run, one slot is kept free for its next
// evaluation. Otherwise, with a long evaluation of others on every CPU, that evaluation would
// wait some milliseconds for the kernel's time slice at every turn. If all tenants are busy, no
// slot is kept free.
func (s *Scheduler) room(now time.Time) int {
	for s.slots > 1 && len(s.left) > 0 {
		f := s.left[0]
		if f.running == 0 && now.Sub(f.ended) < absence {
			return s.slots - 1
		}
		f.listed = false
		s.left = append(s.left[:0], s.left[1:]...)
	}
	return s.slots
}

// begin starts an evaluation of f and charges its assumed cost.
func (s *Scheduler) begin(f *flow) (reserved float64) {
	reserved = f.usual
	if reserved == 0 {
		reserved = s.usual
	}
	f.virtual += reserved / f.weight
	f.running++
	s.running++
	return reserved
}

// end settles the cost of an evaluation of f and starts others.
func (s *Scheduler) end(f *flow, reserved, cost float64, now time.Time) {
	f.running--
	s.running--
	f.virtual += (cost - reserved) / f.weight
	switch {
	case f.at >= 0:
		heap.Fix(&s.ready, f.at)
	case f.waiting.Len() > 0:
		s.offer(f)
	}
	if f.running == 0 {
		if f.waiting.Len() > 0 {
			s.next(f)
		} else if f.ended = now; !f.listed {
			f.listed = true
			s.left = append(s.left, f)
		}
	}
	for s.running < s.room(now) && len(s.ready) > 0 {
		s.next(s.ready[0])
	}
	if len(s.ready) > 0 {
		s.present = max(s.present, s.ready[0].virtual)
	}
}

// offer adds f to the ready flows unless it is there or at its concurrency limit.
func (s *Scheduler) offer(f *flow) {
	if f.at < 0 && f.running < f.concurrency {
		f.virtual = max(f.virtual, s.present)
		heap.Push(&s.ready, f)
	}
}

// next starts the first waiting turn of f, which must be ready.
func (s *Scheduler) next(f *flow) {
	if f == s.ready[0] {
		s.present = max(s.present, f.virtual)
	}
	t := f.waiting.Remove(f.waiting.Front()).(*turn)
	t.reserved, t.started = s.begin(f), true
	if f.waiting.Len() == 0 || f.running >= f.concurrency {
		heap.Remove(&s.ready, f.at)
	} else {
		heap.Fix(&s.ready, f.at)
	}
	t.start <- struct{}{}
}
