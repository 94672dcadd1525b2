package tenant

import (
	"context"
	"time"
)

// What a tenant sends that cannot be read is computed for nothing, and no limit of
// requests or fuel counts it. While others compute too, a tenant waits wastePrice
// times as long as such work took before more of what it sends is decoded: it has a
// twentieth of a processor for that, so that few requests of others meet it.
const (
	wastePrice = 19
	leastWait  = time.Millisecond // less is added up
	mostWait   = 2 * time.Second  // nobody owes more
)

// Decode runs f, which decodes, checks or unpacks what t has sent, in a turn of t.
// It returns how long f took, for Wasted where what it did turns out to be for
// nothing. The error is that of f, or of ctx if f did not run.
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

// Wasted notes that decoding which took d was for nothing: what t sent was refused.
func (s *Scheduler) Wasted(t *Tenant, d time.Duration) {
	if d > 0 {
		s.wasted(s.flow(t.account), d, time.Now())
	}
}

// clean waits for a turn of t in which it owes nothing: it may have come to owe
// something while the turn was awaited.
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

// wasted notes that work of f that took d was for nothing.
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

// owed is how long f waits before it decodes: 0 where nobody else computes.
func (s *Scheduler) owed(f *flow, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := f.clean.Sub(now)
	if wait < leastWait || !s.others(f, now) {
		return 0
	}
	return wait
}

// others reports whether tenants other than that of f compute, or did a moment ago.
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
