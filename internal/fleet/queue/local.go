package queue

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/merit-rl/merit/core/fault"
)

// Local returns a fleet that computes in this process. Its handlers compute at most parallel
// shards at the same time, over all calls of Submit.
func Local(parallel int, handlers map[Kind]Handler) Fleet {
	ctx, stop := context.WithCancelCause(context.Background())
	return &local{ctx: ctx, stop: stop, places: make(chan struct{}, max(parallel, 1)), handlers: handlers}
}

type local struct {
	ctx      context.Context
	stop     context.CancelCauseFunc
	places   chan struct{} // limits how many shards are computed at the same time
	handlers map[Kind]Handler
	under    sync.WaitGroup // running shards

	mutex sync.Mutex // guards starting a shard
}

// errClosed is returned after Close.
var errClosed = &fault.Error{Boundary: fault.Fleet, Kind: fault.Interrupted, What: "the fleet was closed", Hint: "open it again"}

// Close implements Fleet. It returns when no handler is running.
func (l *local) Close() error {
	l.mutex.Lock()
	l.stop(errClosed)
	l.mutex.Unlock()
	l.under.Wait()
	return nil
}

// Submit implements Fleet. It draws shards in the caller's goroutine between the results that
// it yields. At any time, at most 2 × parallel shards are drawn and not yet yielded.
func (l *local) Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(l.ctx, cancel)()
		s := localJob{local: l, job: job, done: make(chan Result, 2*cap(l.places))}
		defer s.mine.Wait()
		defer cancel()
		next, stop := iter.Pull(shards)
		defer stop()
		err := CheckJob(job)
		if err == nil {
			err = s.run(inner, next, yield)
		}
		switch {
		case l.ctx.Err() != nil && err != nil:
			err = errClosed
		case ctx.Err() != nil && err != nil:
			err = ctx.Err()
		}
		if err != nil {
			cancel()
			s.mine.Wait()
			yield(Result{}, err)
		}
	}
}

// localJob is one running Submit.
type localJob struct {
	*local
	job  string
	open int         // shards drawn and not yet yielded
	done chan Result // has a buffer for all open shards
	mine sync.WaitGroup
}

// run yields results until all are yielded, the caller stops, or an error occurs.
func (s *localJob) run(ctx context.Context, next func() (Shard, bool), yield func(Result, error) bool) error {
	n := 0
	for more := true; ; {
		for more && s.open < cap(s.done) && ctx.Err() == nil {
			var shard Shard
			if shard, more = next(); more {
				shard.Index = n
				err := shard.Check()
				if err == nil {
					err = s.start(ctx, shard)
				}
				if err != nil {
					return err
				}
				n++
			}
		}
		if s.open == 0 && !more {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-s.done:
			if ctx.Err() != nil {
				return ctx.Err() // r may have failed only because of that
			}
			if s.open--; !yield(r, nil) {
				return nil
			}
		}
	}
}

// start computes a shard in a goroutine as soon as the limit allows.
func (s *localJob) start(ctx context.Context, shard Shard) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ctx.Err() != nil {
		return errClosed
	}
	s.open++
	s.under.Add(1)
	s.mine.Go(func() {
		defer s.under.Done()
		select {
		case <-ctx.Done():
			return
		case s.places <- struct{}{}:
		}
		defer func() { <-s.places }()
		s.done <- s.compute(ctx, shard)
	})
	return nil
}

// compute tries a shard until it has a result or has used up its tries.
func (s *localJob) compute(ctx context.Context, shard Shard) Result {
	r := Result{Index: shard.Index}
	var err error
	for r.Deliveries < MaxTries && ctx.Err() == nil {
		r.Deliveries++
		if r.Body, err = s.handlers[shard.Kind].Do(ctx, shard); err == nil {
			return r
		}
	}
	r.Err = GivenUp(s.job, shard.Index, r.Deliveries, errors.Join(err, ctx.Err()))
	return r
}
