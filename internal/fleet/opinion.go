package fleet

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
)

// patience is how many times Grace a second opinion may take while there are
// other things to wait for.
const patience = 10

// ask has a result computed again, without waiting for it.
func (s *verification) ask(ctx, elsewhere context.Context, e *entry) {
	select {
	case s.open <- struct{}{}:
	case <-ctx.Done():
		return
	}
	s.mutex.Lock()
	e.asked, e.busy = true, true
	s.mutex.Unlock()
	s.checks.Go(func() {
		defer func() { <-s.open }()
		s.compare(ctx, elsewhere, e)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		e.busy = false
	})
}

// compare holds a result to that of another worker, or of this process.
func (s *verification) compare(ctx, elsewhere context.Context, e *entry) {
	var second []Result
	if _, here := s.chosen(s.job, e.shard.Index); !here && s.others(e.result.Worker) {
		for _, r := range s.elsewhere(elsewhere, derived(s.job, e.shard.Index, e.result.Worker), shardsOf([]*entry{e})) {
			second = append(second, r)
		}
		if len(second) == 0 && ctx.Err() == nil {
			s.alone(e.result.Worker)
		}
	}
	if len(second) == 1 && bytes.Equal(second[0].Body, e.result.Body) {
		s.count(func(r *VerifyReport) { r.Checked++ })
		s.mutex.Lock()
		defer s.mutex.Unlock()
		e.by = second[0].Worker
		return
	}
	s.arbitrate(ctx, e, second)
}

// arbitrate computes a result in this process, and excludes who says something else.
func (s *verification) arbitrate(ctx context.Context, e *entry, second []Result) {
	own, err := s.compute(ctx, e.shard)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if len(second) == 0 {
			s.count(func(r *VerifyReport) { r.Unchecked++ })
		} else {
			s.fail(e, "two workers differ, and this process cannot say who is right", "see the cause; "+e.result.Worker+" and "+second[0].Worker+" are the workers", err)
		}
		return
	}
	answers := append([]Result{e.result}, second...)
	differ := slices.DeleteFunc(answers, func(r Result) bool { return bytes.Equal(r.Body, own) })
	s.count(func(r *VerifyReport) {
		r.Checked, r.Here = r.Checked+1, r.Here+1
		if len(differ) > 0 {
			r.Differed++
		}
	})
	if len(differ) > 0 { // nobody is accused of what is not a function of the shard
		if twice, err := s.compute(ctx, e.shard); err != nil || !bytes.Equal(own, twice) {
			if ctx.Err() == nil {
				s.fail(e, "this process itself gives two results to one shard", "set fleet.verify to 0 where results are not a function of their input, as with a model that samples elsewhere", err)
			}
			return
		}
	}
	for _, r := range differ {
		s.accuse(r.Worker, s.job, e.shard.Index)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if e.here = true; !bytes.Equal(e.result.Body, own) {
		e.correct(own, e.result.Worker)
	}
}

// replace computes in this process what nobody else is believed to.
func (s *verification) replace(ctx context.Context, e *entry) {
	own, err := s.compute(ctx, e.shard)
	if err != nil {
		s.fail(e, "a wrong result cannot be computed again", "see the cause; without "+e.result.Worker+", go on from the last checkpoint", err)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e.here = true
	e.correct(own, "")
}

// fail ends the Submit at its next step.
func (s *verification) fail(e *entry, what, hint string, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failed == nil {
		s.failed = &fault.Error{Boundary: fault.Fleet, Kind: fault.Differs, Where: fmt.Sprintf("%s, shard %d", s.job, e.shard.Index), What: what, Hint: hint, Err: err}
	}
}

// elsewhere has shards computed by others than they say, and returns the results,
// by their places, of workers that are believed.
func (s *verification) elsewhere(ctx context.Context, job string, shards []Shard) map[int]Result {
	results := map[int]Result{}
	if len(shards) == 0 {
		return results
	}
	ctx, cancel := context.WithTimeout(ctx, patience*s.o.Grace)
	defer cancel()
	for r, err := range s.inner.Submit(ctx, job, slices.Values(shards)) {
		if err == nil && r.Err == nil && r.Worker != "" && r.Worker != shards[r.Index].Not && !s.outcast(r.Worker) {
			results[r.Index] = r
		}
	}
	return results
}

// compute computes in this process.
func (v *Verifier) compute(ctx context.Context, s Shard) (body []byte, err error) {
	h := v.o.Handlers[s.Kind]
	if h == nil {
		return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: string(s.Kind), What: "this process does not compute this kind of work", Hint: "give it a handler"}
	}
	select {
	case v.here <- struct{}{}:
		defer func() { <-v.here }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.Not = ""
	for range MaxTries {
		lease := v.o.Contents.Lease()
		body, err = h.Do(ctx, s, lease)
		lease.Release()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return body, err
}
