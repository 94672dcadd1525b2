package tenant

import (
	"container/list"
	"math"
	"time"
)

// flow tracks the evaluations of one tenant.
type flow struct {
	waiting     list.List // of *turn
	running     int
	concurrency int
	weight      float64
	virtual     float64
	usual       float64
	at          int       // index in Scheduler.ready, or -1
	ended       time.Time // when its last running evaluation ended
	listed      bool      // whether it is in Scheduler.left
	clean       time.Time // until when it waits to pay for wasted work
}

// flow returns the flow of a tenant, updated with its current limits.
func (s *Scheduler) flow(a *account) *flow {
	a.mu.Lock()
	concurrency, weight := a.limits.Concurrency, a.limits.Weight
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flows[a]
	if f == nil {
		f = &flow{at: -1}
		s.flows[a] = f
	}
	if f.concurrency, f.weight = concurrency, weight; concurrency <= 0 {
		f.concurrency = math.MaxInt
	}
	return f
}

// cost returns what an evaluation counts for: its fuel or, if no fuel was metered because its
// process died, its time in nanoseconds.
func cost(fuel uint64, took time.Duration) float64 {
	if fuel == 0 {
		return float64(max(took, 1))
	}
	return float64(fuel)
}

// flowHeap orders flows by virtual fuel and, if equal, by running evaluations. Equal values
// occur when a tenant that was idle resumes next to one that has waited.
type flowHeap []*flow

func (h flowHeap) Len() int { return len(h) }

func (h flowHeap) Less(i, j int) bool {
	if h[i].virtual != h[j].virtual {
		return h[i].virtual < h[j].virtual
	}
	return h[i].running < h[j].running
}

func (h flowHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *flowHeap) Push(x any) {
	f := x.(*flow)
	f.at = len(*h)
	*h = append(*h, f)
}

func (h *flowHeap) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	(*h)[last], f.at = nil, -1
	*h = (*h)[:last]
	return f
}
