package world

import (
	"sync"

	"github.com/merit-rl/merit/internal/base/cpus"
)

// shifts divides workers among CPUs. A CPU first plays the workers that it played the last
// time: their instances are in its cache, and a step in the cache of another CPU takes half
// as long again. Then it plays what is left. The results do not depend on the CPU.
type shifts struct {
	cpu  []int // which played each worker last
	busy []bool
	mu   sync.Mutex
}

// play calls play once for each worker.
func (s *shifts) play(play func(n int)) {
	s.busy = append(s.busy[:0], make([]bool, len(s.cpu))...)
	var others sync.WaitGroup
	for range min(cpus.Count(), len(s.cpu)) - 1 {
		others.Go(func() { s.work(play) })
	}
	s.work(play)
	others.Wait()
}

// work plays workers on this CPU until none is left.
func (s *shifts) work(play func(n int)) {
	here := cpus.Current()
	for n := s.take(here); n >= 0; n = s.take(here) {
		play(n)
	}
}

// take returns a worker that nobody plays yet, or −1.
func (s *shifts) take(here int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = -1
	for i, busy := range s.busy {
		if !busy && (n < 0 || s.cpu[i] == here) {
			if n = i; s.cpu[i] == here {
				break
			}
		}
	}
	if n >= 0 {
		s.busy[n], s.cpu[n] = true, here
	}
	return n
}
