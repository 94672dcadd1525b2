package tenant

import (
	"context"
	"time"
)

// Decoding invalid input is wasted work that no limit on requests or fuel counts. While others
// compute too, a tenant therefore waits wastePrice times as long as the wasted work took before
// more of its input is decoded. It thus spends at most a twentieth of a CPU on such work, and
// few requests of others are delayed by it.
const (
	wastePrice = 19
	leastWait  = time.Millisecond // shorter waits accumulate
	mostWait   = 2 * time.Second  // longest wait
)

// Decode runs f, which decodes, checks or unpacks input of t, in a turn of t. It returns how
// long f took, to pass to Wasted if the input turns out to be invalid. The error is that of f,
// or that of ctx if f did not run.
func (s *Scheduler) Decode(ctx context.Context, t *Tenant, f func() error) (took time.Duration, err error) {
	done, err := s.clean(ctx, t, s.flow(t.account))
	if err != nil {
		return 0, err
	}
	defer done()
	began := time.Now()
	err = f()
	return time.Since(began), err
}

// Wasted records that decoding for d was wasted, because the input was refused.
func (s *Scheduler) Wasted(t *Tenant, d time.Duration) {
	if d > 0 {
		s.wasted(s.flow(t.account), d, time.Now())
	}
}

// clean waits for a turn of t at which it owes no waiting time. More may have been added while
// it waited for the turn.
func (s *Scheduler) clean(ctx context.Context, t *Tenant, w *flow) (done func(), err error) {
	for {
		if d := s.owed(w, time.Now()); d > 0 {
			if err := sleep(ctx, d); err != nil {
				return nil, err
			}
		}
		if done, err = s.Turn(ctx, t); err != nil || s.owed(w, time.Now()) == 0 {
			return done, err
		}
		done()
	}
}

// wasted records that work of f for d was wasted.
func (s *Scheduler) wasted(f *flow, d time.Duration, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.clean.Before(now) {
		f.clean = now
	}
	if f.clean = f.clean.Add(wastePrice * d); f.clean.After(now.Add(mostWait)) {
		f.clean = now.Add(mostWait)
	}
}

// owed returns how long f must wait before it decodes; 0 if no other tenant computes.
func (s *Scheduler) owed(f *flow, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := f.clean.Sub(now)
	if wait < leastWait || !s.others(f, now) {
		return 0
	}
	return wait
}

// others reports whether other tenants than that of f compute, or did a moment ago.
func (s *Scheduler) others(f *flow, now time.Time) bool {
	if s.running > f.running {
		return true
	}
	for _, other := range s.left {
		if other != f && now.Sub(other.ended) < absence {
			return true
		}
	}
	return false
}
