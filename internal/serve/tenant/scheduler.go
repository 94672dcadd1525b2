package tenant

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/base/cpus"
)

// Scheduler decides whose evaluation runs next: fair between tenants by fuel,
// not by arrival. It is safe for concurrent use.
//
// A tenant without a running evaluation gets a slot at once, even beyond the
// slots there are: guests of different tenants run in different processes,
// among which the kernel shares the processors. What goes beyond a tenant's
// first evaluation shares the slots, all but one while somebody has just left
// and may come again, by start-time fair queueing (Goyal, Vin and Cheng 1996): a tenant's virtual fuel grows by what its evaluations use,
// divided by its weight, and the least goes next. Who was idle goes on at the
// present of the others: nobody saves up. While an evaluation runs, what is
// usual for its tenant stands for what it will have used.
type Scheduler struct {
	slots int

	mu      sync.Mutex
	flows   map[*account]*flow
	ready   flowHeap // those with a turn that waits and could run but for slots
	running int
	present float64 // the virtual fuel at which who was idle goes on
	usual   float64 // cost of an evaluation
	left    []*flow // that had nothing more to run, and may have come again

	turns sync.Pool // of *turn: they are used again
}

// turn is an evaluation that waits or runs.
type turn struct {
	start    chan struct{} // holds one value when it may run
	started  bool
	reserved float64 // cost that was reckoned with
}

// NewScheduler returns a scheduler of this many evaluations at one time; 0
// means one for each processor.
func NewScheduler(slots int) *Scheduler {
	if slots <= 0 {
		slots = cpus.Count()
	}
	s := &Scheduler{slots: slots, flows: map[*account]*flow{}}
	s.turns.New = func() any { return &turn{start: make(chan struct{}, 1)} }
	return s
}

// enter waits for the turn of an evaluation of f and returns the cost that was
// reckoned with. The error is that of ctx.
func (s *Scheduler) enter(ctx context.Context, f *flow) (reserved float64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	now := time.Now()
	s.mu.Lock()
	if f.waiting.Len() == 0 && (f.running == 0 || s.running < s.room(now) && f.running < f.concurrency) {
		f.virtual = max(f.virtual, s.present)
		if len(s.ready) == 0 {
			s.present = f.virtual // nobody waits, so nobody falls behind
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

// abandon takes back a turn that nobody waits for any more.
func (s *Scheduler) abandon(f *flow, t *turn, place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.started { // just now
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

// leave ends an evaluation of f that has cost as much.
func (s *Scheduler) leave(f *flow, reserved, cost float64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const pace = 1.0 / 8
	f.usual += (cost - f.usual) * pace
	s.usual += (cost - s.usual) * pace
	s.end(f, reserved, cost, now)
}

// absence is how long a tenant that left is reckoned with.
const absence = time.Second

// room is how many evaluations run before others than a first one wait. While
// somebody who ran a moment ago has nothing to run, one slot is kept for what
// comes next: with a long evaluation of others on every processor it would wait
// for the kernel to part them, some milliseconds at every turn. Where all are
// busy no slot is kept.
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

// begin lets an evaluation of f run, on credit.
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

// end settles an evaluation of f and lets others run.
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

// offer puts f among those that could run but for slots, if it is so.
func (s *Scheduler) offer(f *flow) {
	if f.at < 0 && f.running < f.concurrency {
		f.virtual = max(f.virtual, s.present)
		heap.Push(&s.ready, f)
	}
}

// next lets the first turn of f, which is ready, run.
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
