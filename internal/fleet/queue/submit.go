package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
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

// fetch tells of a result that the server has.
func (s *submission) fetch(ctx context.Context, p place) {
	stream, err := s.stream(ctx, resultStream)
	if err != nil {
		return // it is looked for again
	}
	if m, err := stream.GetLastMsgForSubject(ctx, p.result()); err == nil {
		e := s.unseal(ctx, p, m.Subject, m.Header, m.Data)
		e.found = true
		s.tell(e)
	}
}

// unseal checks a result, and brings a large one. Where this end has a key workers
// have, and a result that nobody has signed may be anybody's in anybody's name.
func (s *submission) unseal(ctx context.Context, p place, subject string, h nats.Header, data []byte) event {
	v := event{place: p}
	if v.envelope, v.err = open(subject, h, data); v.err != nil {
		return v
	}
	v.barred = s.barred(v.worker, v.envelope.key)
	switch {
	case v.barred:
		v.err = errors.New("its worker is excluded")
	case s.conn.key != nil && v.envelope.key == "":
		v.err = errors.New("it is not signed")
	case v.stored >= 0:
		data, v.err = s.large(ctx, p, v.envelope)
	}
	v.result = Result{Index: p.index, Worker: v.by(), Body: data, Deliveries: v.envelope.tries}
	return v
}

// large brings a result that did not fit into a message, and takes it out.
func (s *submission) large(ctx context.Context, p place, e envelope) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, err := s.stream(ctx, bodyStream)
	if err != nil {
		return nil, err
	}
	var data []byte // it grows by what is there, and not by what a worker says
	for i := 0; len(data) < e.stored; i++ {
		part, err := stream.GetLastMsgForSubject(ctx, e.part(p, i))
		if err != nil {
			return nil, err
		}
		if len(part.Data) == 0 || len(part.Data) > e.stored-len(data) {
			return nil, errors.New("its parts are not those of its size")
		}
		data = append(data, part.Data...)
	}
	if DigestOfBytes(data) != e.digest {
		return nil, errors.New("its body is not what its digest says")
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(e.parts(p)+"*")); err != nil {
		s.Log.Debug("a large result stays in its stream, which forgets it by itself", "cause", err)
	}
	return data, nil
}

// take is what an event comes to: a result for the caller, or nil.
func (s *submission) take(ctx context.Context, e event) (*Result, error) {
	a := s.open[e.tail()]
	switch before, again := s.seen[e.tail()]; {
	case a == nil && e.found: // heard meanwhile
		return nil, nil
	case a == nil && e.err == nil && again: // a second one
		s.count(func(c *Counts) {
			if before == e.digest {
				c.Twice++
			} else {
				c.Differing++
			}
		})
		return nil, nil
	case a == nil: // of a shard that is not drawn yet: it is kept
		if e.err == nil {
			s.had[e.place.result()] = 1
		}
		return nil, nil
	case e.err != nil:
		return s.refuse(ctx, a, e)
	}
	delete(s.open, e.tail())
	s.seen[e.tail()] = e.digest
	if r := e.result; e.failed {
		return s.dead(a, r.Deliveries, fmt.Errorf("worker %s: %s", e.worker, plain(r.Body, maxCause))), nil
	}
	s.count(func(c *Counts) {
		c.Shards++
		c.Bytes += uint64(len(e.result.Body))
		c.Redelivered += uint64(min(1, e.result.Deliveries-1))
	})
	return &e.result, nil
}

// dead is the result of a shard that was tried as often as it may be.
func (s *submission) dead(a *asked, tries int, why error) *Result {
	s.count(func(c *Counts) { c.Dead++ })
	return &Result{Index: a.index, Deliveries: tries, Err: GivenUp(s.job, a.index, tries, why)}
}

// refuse takes a result out of the stream that is none, and asks again.
func (s *submission) refuse(ctx context.Context, a *asked, e event) (*Result, error) {
	s.count(func(c *Counts) { c.Refused++ })
	a.doubt = true
	if e.barred {
		a.tries-- // who is excluded and does not go costs the shard nothing
	} else {
		s.Log.Warn("a result is refused", "worker", e.worker, "job", s.job, "shard", a.index, "cause", e.err)
	}
	if a.tries >= 2*MaxTries {
		delete(s.open, e.tail())
		return s.dead(a, a.tries, fmt.Errorf("a result of worker %s: %w", e.worker, e.err)), nil
	}
	if err := s.purge(ctx, resultStream, a.result()); err != nil && !lost(err) {
		return nil, s.explain(err, "a result that is none cannot be taken out")
	}
	s.count(func(c *Counts) { c.Resubmitted++ })
	return nil, s.send(ctx, a)
}

// watch looks after the queue when the server was away, when nothing was heard of a
// shard for long, and every time while one is in doubt.
func (s *submission) watch(ctx context.Context) error {
	line := s.conn.line.Load()
	due := line != s.line
	for _, a := range s.open {
		due = due || a.doubt || time.Since(a.at) > s.Timings.Watch
	}
	if !due {
		return nil
	}
	err := s.look(ctx)
	if err == nil {
		s.line = line
	}
	if err == nil || lost(err) { // it is not back yet
		return nil
	}
	return s.explain(err, "the queue cannot be looked at")
}

// look finds out where open shards are: a result that was not heard is taken, and what
// the queue has lost is sent again. So the queue may lose all that it has.
func (s *submission) look(ctx context.Context) error {
	waiting, born, err := s.subjects(ctx, workStream, s.of("work", s.job))
	if streamless(err) {
		if err = s.restore(ctx); err == nil {
			waiting, born, err = s.subjects(ctx, workStream, s.of("work", s.job))
		}
	}
	if err != nil {
		return err
	}
	if !born.Equal(s.born) { // it is another queue, and so are the contents
		s.born = born
		s.mutex.Lock()
		clear(s.there)
		s.mutex.Unlock()
	}
	there, _, err := s.subjects(ctx, resultStream, s.of("result", s.job))
	if err != nil {
		return err
	}
	var gone []*asked
	for _, a := range s.open {
		switch {
		case there[a.result()] > 0:
			go s.fetch(ctx, a.place)
		case waiting[a.work()] > 0:
			a.at = time.Now()
		default:
			gone = append(gone, a)
		}
	}
	for _, a := range gone {
		if err := s.supply(ctx, a.Shard); err != nil {
			return err
		}
	}
	s.count(func(c *Counts) { c.Resubmitted += uint64(len(gone)) })
	return s.sendAll(ctx, gone)
}

// patience says something while nobody is there, and loses itself in the end.
func (s *submission) patience() error {
	_, since := s.crew.slots()
	if since.IsZero() {
		s.warned = false
		return nil
	}
	if err := s.crew.hope(); err != nil {
		return err
	}
	away := time.Since(since)
	what, hint := "no worker is there", "start one with merit worker --join"
	if other := s.crew.others(); other != "" {
		what, hint = fmt.Sprintf("no worker of this build (%s) is there; there are some of build %s", s.Build, other), sameness(s.Build, other)
	}
	switch {
	case away > s.Patience:
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Timeout, Where: s.job, What: fmt.Sprintf("%s, for %s", what, s.Patience), Hint: hint}
	case away > 10*time.Second && !s.warned:
		s.warned = true
		s.Log.Warn(what+"; waiting", "hint", hint)
	}
	return nil
}

// clean takes back what is not computed, and what was left of the job: who asks
// for it again begins anew.
func (s *submission) clean(whole bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	name, what := workStream, "work"
	if len(s.open) > 0 {
		_ = s.nc.Publish("merit.control.all", []byte("forget "+s.job)) // who does not hear it computes for nobody
	}
	// What workers are about to acknowledge is left to them: the server, when a shard
	// goes that is handed out, overhears those who hand back others at that moment,
	// and these wait until nobody vouches for them.
	if whole { // results of a job that was cut short are kept for who goes on with it
		name, what = resultStream, "result"
	}
	if err := s.purge(ctx, name, s.of(what, s.job)); err != nil {
		s.Log.Debug("the queue is not clean; it forgets by itself", "stream", name, "cause", err)
	}
}
