package fleet

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/merit-rl/merit/core/fault"
)

// Local returns a fleet that is this process: handlers compute, parallel shards
// at one time, whoever submits them. Contents, which may be nil if shards need
// none, holds what is Put; the fleet does not close it.
func Local(parallel int, handlers map[Kind]Handler, contents *Cache) Fleet {
	ctx, stop := context.WithCancelCause(context.Background())
	return &local{ctx: ctx, stop: stop, places: make(chan struct{}, max(parallel, 1)), handlers: handlers, contents: contents}
}

type local struct {
	ctx      context.Context
	stop     context.CancelCauseFunc
	places   chan struct{} // one for each shard that may be computed now
	handlers map[Kind]Handler
	contents *Cache

	mutex  sync.Mutex // of what follows
	closed bool
	under  sync.WaitGroup // shards that are under way
}

// errClosed is why a fleet that was left computes nothing.
var errClosed = &fault.Error{Boundary: fault.Fleet, Kind: fault.Interrupted, What: "the fleet was closed", Hint: "open it again"}

// Put implements Fleet.
func (l *local) Put(ctx context.Context, digest Digest, size int64, content io.Reader) error {
	if l.ctx.Err() != nil {
		return errClosed
	}
	if l.contents == nil {
		return refused(string(digest), "this fleet keeps no contents", "open it with a cache")
	}
	return l.contents.Put(ctx, digest, size, content)
}

// Close implements Fleet. It returns when no handler runs any more.
func (l *local) Close() error {
	l.mutex.Lock()
	l.closed = true
	l.mutex.Unlock()
	l.stop(errClosed)
	l.under.Wait()
	return nil
}

// Submit implements Fleet. It draws shards between the results that it yields,
// in the caller's goroutine: at most twice as many as there are places are drawn
// and not yielded.
func (l *local) Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := CheckJob(job); err != nil {
			yield(Result{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(l.ctx, cancel)()
		s := submission{local: l, job: job, done: make(chan Result, 2*cap(l.places))}
		defer s.under.Wait()
		defer cancel()
		next, stop := iter.Pull(shards)
		defer stop()
		if err := s.run(ctx, next, yield); err != nil {
			cancel()
			s.under.Wait()
			yield(Result{}, err)
		}
	}
}

// submission is one Submit under way.
type submission struct {
	*local
	job   string
	drawn Drawn
	open  int         // shards drawn and not yielded
	done  chan Result // has room for all that are open
	under sync.WaitGroup
}

// run yields results until there are no more, the caller leaves, or there is an error.
func (s *submission) run(ctx context.Context, next func() (Shard, bool), yield func(Result, error) bool) error {
	for more := true; more || s.open > 0; {
		for more && s.open < cap(s.done) {
			if err := s.ended(ctx); err != nil {
				return err
			}
			var shard Shard
			if shard, more = next(); !more {
				if err := s.drawn.End(); err != nil {
					return err
				}
				break
			}
			if err := s.start(ctx, shard); err != nil {
				return err
			}
		}
		if s.open == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return s.ended(ctx)
		case r := <-s.done:
			if err := s.ended(ctx); err != nil {
				return err // r may have failed of nothing else
			}
			if s.open--; !yield(r, nil) {
				return nil
			}
		}
	}
	return nil
}

// ended returns why nothing more is computed: the fleet was closed, or ctx is over.
func (s *submission) ended(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return errClosed
	}
	return ctx.Err()
}

// start has a shard computed as soon as there is a place.
func (s *submission) start(ctx context.Context, shard Shard) error {
	if err := s.drawn.Add(shard); err != nil {
		return err
	}
	h := s.handlers[shard.Kind]
	if h == nil {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: string(shard.Kind), What: "nobody here computes this kind of work", Hint: "give the fleet a handler for it"}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return errClosed
	}
	s.open++
	s.local.under.Add(1)
	s.under.Go(func() {
		defer s.local.under.Done()
		select {
		case <-ctx.Done():
			return
		case s.places <- struct{}{}:
		}
		defer func() { <-s.places }()
		s.done <- s.compute(ctx, h, shard)
	})
	return nil
}

// compute tries a shard until it has a result, or often enough.
func (s *submission) compute(ctx context.Context, h Handler, shard Shard) Result {
	r := Result{Index: shard.Index}
	var err error
	for r.Deliveries < MaxTries && ctx.Err() == nil {
		r.Deliveries++
		if r.Body, err = s.try(ctx, h, shard); err == nil {
			return r
		}
	}
	r.Err = GivenUp(s.job, shard.Index, r.Deliveries, errors.Join(err, ctx.Err()))
	return r
}

func (s *submission) try(ctx context.Context, h Handler, shard Shard) ([]byte, error) {
	lease := s.contents.Lease()
	defer lease.Release()
	return h.Do(ctx, shard, lease)
}
