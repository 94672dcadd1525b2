package queue

import (
	"context"
	"errors"
	"iter"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// submission is one Submit under way. What it knows belongs to the goroutine of
// the caller; events come over a channel.
//
// A shard is a message of a work queue, its result the one message of its own
// subject: the first is kept, and the server refuses all others. A worker publishes a
// result, waits until the server has it, and only then acknowledges the shard. The
// coordinator hears results as they are published, and what it did not hear it finds
// in the stream. So a worker, the coordinator and the server may die at any moment:
// what is lost is sent again, by look, and by nobody else.
type submission struct {
	*Remote
	job    string
	drawn  int               // shards
	open   map[string]*asked // by the tail of the subject
	had    map[string]uint64 // results that were there before their shards were drawn, by subject
	seen   map[string]Digest // of results that were taken, by the tail
	events chan event
	over   <-chan struct{} // closed when nobody takes events any more
	line   *line           // when it looked last; nil at first, since what was said before all servers knew who listens was not heard
	born   time.Time       // when the queue was made that shards were sent to
	warned bool            // that nobody is there
}

// asked is a shard that is drawn and has no result yet.
type asked struct {
	Shard
	place
	at    time.Time // it was last sent or found in the queue
	tries int       // how often it was sent
	doubt bool      // a result of it was refused: whoever gave it may yet take it out of the queue
}

// event is something that happened to a shard.
type event struct {
	place
	envelope
	result Result
	err    error // why the message is no result
	barred bool  // that is because its worker is excluded
	found  bool  // it was not heard, but found in the stream
}

// Submit implements Fleet. It owns every retry: a shard is handed out until one try
// has a result, MaxTries at most, and sent again if the server has lost it or its
// result is refused. Whoever calls it need not ask twice.
func (r *Remote) Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		err := CheckJob(job)
		if err == nil {
			err = r.submit(ctx, job, shards, yield)
		}
		if err != nil {
			yield(Result{}, err)
		}
	}
}

// submit is Submit up to the error that ends it. When it returns nothing of it is
// under way here.
func (r *Remote) submit(outer context.Context, job string, shards iter.Seq[Shard], yield func(Result, error) bool) (err error) {
	end, err := r.begin()
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	s := &submission{Remote: r, job: job, open: map[string]*asked{}, had: map[string]uint64{}, seen: map[string]Digest{}, events: make(chan event, 16), over: ctx.Done()}
	left, err := s.run(ctx, shards, yield)
	cancel(nil)
	s.clean(err == nil && !left)
	switch {
	case err != nil && r.ctx.Err() != nil && outer.Err() == nil:
		return context.Cause(r.ctx)
	case err != nil && outer.Err() != nil:
		return outer.Err()
	}
	return err
}

// begin listens to results, and finds what an earlier Submit of the job has left:
// results are kept, and what waits in the queue is asked for anew.
func (s *submission) begin(ctx context.Context) (*nats.Subscription, error) {
	results, err := s.nc.Subscribe(s.of("result", s.job), func(m *nats.Msg) {
		if p, ok := placeOf(m.Subject); ok {
			s.tell(s.unseal(ctx, p, m.Subject, m.Header, m.Data))
		}
	})
	if err == nil {
		err = results.SetPendingLimits(-1, -1) // as much as is under way
	}
	if err != nil {
		return nil, s.explain(err, "the results of the fleet cannot be heard")
	}
	return results, s.until(ctx, "the streams of the fleet cannot be read", s.restore, func() error {
		waiting, born, err := s.subjects(ctx, workStream, s.of("work", s.job))
		if err == nil && len(waiting) > 0 {
			err = s.purge(ctx, workStream, s.of("work", s.job))
		}
		if s.born = born; err != nil {
			return err
		}
		there, _, err := s.subjects(ctx, resultStream, s.of("result", s.job))
		maps.Copy(s.had, there)
		return err
	})
}

func (s *submission) purge(ctx context.Context, name, subject string) error {
	stream, err := s.stream(ctx, name)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// run draws shards as there are places and yields results, until there are no
// more, the caller leaves, or there is an error.
func (s *submission) run(ctx context.Context, shards iter.Seq[Shard], yield func(Result, error) bool) (left bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	results, err := s.begin(ctx)
	if results != nil {
		defer func() { _ = results.Unsubscribe() }()
	}
	if err != nil {
		return false, err
	}
	next, stopped := iter.Pull(shards)
	defer stopped()
	watch := time.NewTicker(min(s.Timings.Watch, time.Second))
	defer watch.Stop()
	for more := true; more || len(s.open) > 0; {
		for more && len(s.open) < s.window() && len(s.events) == 0 {
			if more, err = s.burst(ctx, next); err != nil {
				return false, err
			}
		}
		if len(s.open) == 0 && !more {
			break
		}
		select { // also with nothing open: events of results that came twice keep it from drawing
		case <-ctx.Done():
			return false, ctx.Err()
		case e := <-s.events:
			r, err := s.take(ctx, e)
			if err != nil {
				return false, err
			}
			if r != nil && !yield(*r, nil) {
				return true, nil
			}
		case <-watch.C:
			if err := errors.Join(s.patience(), s.watch(ctx)); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// Bounds of what is sent before the server has said that it has what was sent
// before: a fleet far away would get one shard in each time that a message goes
// there and back, and the server walks over all workers that wait each time that
// its queue is empty again.
const (
	burstShards = 256
	burstBytes  = 4 << 20
)

// window is how many shards may be without a result: enough that a worker that is
// done finds the next one waiting.
func (s *submission) window() int {
	slots, _ := s.crew.slots()
	return max(16, 2*slots)
}

// burst draws shards as there are places, and sends them, one behind the other. More
// is whether there may be others.
func (s *submission) burst(ctx context.Context, next func() (Shard, bool)) (more bool, err error) {
	var sent []*asked
	places := s.window() - len(s.open)
	more = true
	for size := 0; more && len(sent) < min(places, burstShards) && size < burstBytes; {
		var shard Shard
		if shard, more = next(); !more {
			break
		}
		shard.Index = s.drawn
		if err := shard.Check(); err != nil {
			return false, err
		}
		s.drawn++
		a := &asked{Shard: shard, place: s.placeFor(s.job, shard)}
		s.open[a.tail()] = a
		if s.had[a.result()] > 0 {
			places--
			a.at, a.tries = time.Now(), 1
			go s.fetch(ctx, a.place) // the one who takes events is the one who draws
			continue
		}
		if err := s.supply(ctx, shard); err != nil {
			return false, err
		}
		sent, size = append(sent, a), size+len(a.Body)
	}
	return more, s.sendAll(ctx, sent)
}

// sendAll sends shards, and those again that the server does not say that it has
// before the connection's patience is over.
func (s *submission) sendAll(ctx context.Context, all []*asked) error {
	acks := make([]jetstream.PubAckFuture, len(all))
	if len(all) > 1 {
		for i, a := range all {
			acks[i], _ = s.js.PublishMsgAsync(encodeWork(a.place, a.Shard)) // nil is sent again below
		}
	}
	for i, a := range all {
		if acks[i] != nil {
			select {
			case <-acks[i].Ok():
				s.isSent(a)
				continue
			case <-acks[i].Err():
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := s.send(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// isSent remembers that the server has a shard that it did not have before.
func (s *submission) isSent(a *asked) {
	a.tries++
	a.at = time.Now()
	s.count(func(c *Counts) { c.Bytes += uint64(len(a.Body)) })
}

// send puts a shard into the queue; one that is there already is as good.
func (s *submission) send(ctx context.Context, a *asked) error {
	return s.until(ctx, "a shard cannot be put into the queue", s.restore, func() error {
		err := s.publish(ctx, encodeWork(a.place, a.Shard))
		if err == nil {
			s.isSent(a)
		}
		if a.at = time.Now(); taken(err) {
			return nil
		}
		return err
	})
}

// tell passes an event on to who takes results.
func (s *submission) tell(e event) {
	select {
	case s.events <- e:
	case <-s.over:
	}
}
