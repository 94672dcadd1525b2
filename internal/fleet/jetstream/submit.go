package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
)

// submission is one Submit under way. What it knows belongs to the goroutine of
// the caller; events come over a channel.
type submission struct {
	*Fleet
	job    string
	drawn  fleet.Drawn
	open   map[string]*asked // by the tail of the subject
	had    map[string]bool   // results that were there when it began, by their tails
	events chan event
	over   <-chan struct{} // closed when nobody takes events any more
	began  uint64          // results of the stream before it
	born   time.Time       // when the queue was made that shards were sent to
	ear    ear

	warned bool // that nobody is there
}

// asked is a shard that is drawn and has no result yet.
type asked struct {
	fleet.Shard
	place
	at    time.Time // it was last sent or found in the queue
	tries int       // how often it was sent
	doubt bool      // a result of it was refused: whoever gave it may yet take it out of the queue
}

// event is something that happened to a shard.
type event struct {
	tail       string
	result     *fleet.Result // nil: there is none to have
	worker     string        // who is to blame if err is set
	seq        uint64        // of the message in the stream of results; 0 if it is in none
	err        error         // why there is no result in the message
	barred     bool          // that is because its worker is excluded
	deliveries int
	dead       bool // the shard was tried as often as it may be
}

// Submit implements fleet.Fleet.
func (f *Fleet) Submit(ctx context.Context, job string, shards iter.Seq[fleet.Shard]) iter.Seq2[fleet.Result, error] {
	return func(yield func(fleet.Result, error) bool) {
		if err := fleet.CheckJob(job); err != nil {
			yield(fleet.Result{}, err)
			return
		}
		end, err := f.begin()
		if err != nil {
			yield(fleet.Result{}, err)
			return
		}
		if err := f.submit(ctx, job, shards, yield, end); err != nil {
			yield(fleet.Result{}, err)
		}
	}
}

// submit is Submit up to the error that ends it. When it returns nothing of it is
// under way here, and end was called.
func (f *Fleet) submit(ctx context.Context, job string, shards iter.Seq[fleet.Shard], yield func(fleet.Result, error) bool, end func()) error {
	defer end()
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.ctx, func() { cancel(context.Cause(f.ctx)) })()
	s := &submission{Fleet: f, job: job, open: map[string]*asked{}, had: map[string]bool{}, events: make(chan event, 16), over: ctx.Done()}
	if err := ctx.Err(); err != nil {
		return s.ended(outer)
	}
	if err := s.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return s.ended(outer)
		}
		return err
	}
	defer s.enter()()
	listening, stop := s.listen(ctx)
	next, stopped := iter.Pull(shards)
	defer stopped()
	err := s.run(ctx, next, yield)
	stop()
	for listening != nil { // those who speak see the end and go
		select {
		case <-s.events:
		case <-listening:
			listening = nil
		}
	}
	s.clean()
	if err != nil && ctx.Err() != nil {
		return s.ended(outer)
	}
	return err
}

// ended says why nothing goes on: the fleet was closed, the server lets this end in
// no more, or the caller's context is over.
func (s *submission) ended(outer context.Context) error {
	if s.ctx.Err() != nil && outer.Err() == nil {
		return context.Cause(s.ctx)
	}
	return outer.Err()
}

// begin finds what an earlier Submit of the job has left: results are kept, and
// what waits in the queue is asked for anew.
func (s *submission) begin(ctx context.Context) error {
	for warned := false; ; warned = true {
		err := s.find(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if !lost(err) {
			return s.explain(err, "the streams of the fleet cannot be read")
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			if err := s.remake(ctx); err != nil {
				return err
			}
			continue
		}
		if !warned {
			s.Log.Warn("the queue of the fleet is away; waiting", "cause", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// remake makes the streams again that the server has lost, puts what the shards
// that are open need, and sends them: whoever lost the ones has lost the others.
// What does not arrive is looked after by watch.
func (s *submission) remake(ctx context.Context) error {
	if err := s.make(ctx); err != nil {
		return err
	}
	if work, err := s.js.Stream(ctx, workStream); err == nil {
		s.born = work.CachedInfo().Created
	}
	s.ear.renew()
	s.mourning.renew()
	s.mutex.Lock()
	clear(s.there)
	s.mutex.Unlock()
	for _, a := range s.open {
		if err := s.supply(ctx, a); err != nil {
			return err
		}
		if a.tries > 0 && s.publish(ctx, encodeWork(a.place, a.Shard)) == nil {
			a.at = time.Now()
			s.count(func(c *Counts) { c.Resubmitted++ })
		}
	}
	return nil
}

// find looks what there is of the job, in both queues at one time.
func (s *submission) find(ctx context.Context) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.unqueue(ctx) })
	both.Go(func() error { return s.results(ctx) })
	return both.Wait()
}

// unqueue takes out of the queue what waits there.
func (s *submission) unqueue(ctx context.Context) error {
	work, err := s.stream(ctx, workStream)
	if err != nil {
		return err
	}
	left, err := work.Info(ctx, jetstream.WithSubjectFilter(s.of("work", s.job)))
	if err != nil {
		return err
	}
	if s.born = left.Created; len(left.State.Subjects) > 0 {
		err = work.Purge(ctx, jetstream.WithPurgeSubject(s.of("work", s.job)))
	}
	return err
}

// results finds those that are there.
func (s *submission) results(ctx context.Context) error {
	results, err := s.stream(ctx, resultStream)
	if err != nil {
		return err
	}
	info, err := results.Info(ctx, jetstream.WithSubjectFilter(s.of("result", s.job)))
	if err != nil {
		return err
	}
	s.began = info.State.LastSeq
	clear(s.had)
	for subject := range info.State.Subjects {
		if p, ok := placeOf(subject); ok {
			s.had[p.tail()] = true
		}
	}
	return nil
}

// run draws shards as there are places and yields results, until there are no
// more, the caller leaves, or there is an error.
func (s *submission) run(ctx context.Context, next func() (fleet.Shard, bool), yield func(fleet.Result, error) bool) error {
	watch := time.NewTicker(min(s.Timings.Watch, time.Second))
	defer watch.Stop()
	line := s.line.number()
	for more := true; more || len(s.open) > 0; {
		for more && len(s.open) < s.window() && len(s.events) == 0 {
			var err error
			if more, err = s.burst(ctx, next); err != nil {
				return err
			}
		}
		if len(s.open) == 0 && !more {
			continue
		}
		select { // also with nothing open: events of results that came twice keep it from drawing
		case <-ctx.Done():
			return ctx.Err()
		case e := <-s.events:
			r, err := s.take(ctx, e)
			if err != nil {
				return err
			}
			if r != nil && !yield(*r, nil) {
				return nil
			}
		case <-watch.C:
			if err := s.patience(); err != nil {
				return err
			}
			if now := s.line.number(); now != line { // the server was away: it may have lost all that it had
				same, err := s.standing(ctx)
				if err != nil {
					continue // it is not back yet
				}
				if line = now; !same {
					if err := s.remake(ctx); err != nil {
						return err
					}
				}
			}
			if err := s.watch(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// window is how many shards may be without a result: enough that a worker that is
// done finds the next one waiting.
func (s *submission) window() int {
	slots, _ := s.crew.slots()
	return max(16, 2*slots)
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
func (s *submission) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	whole := len(s.open) == 0 && s.drawn.End() == nil && s.ctx.Err() == nil
	if len(s.open) > 0 {
		_ = s.nc.Publish("merit.control.all", []byte("forget "+s.job)) // who does not hear it computes for nobody
	}
	// What workers are about to acknowledge is left to them: the server, when a shard
	// goes that is handed out, overhears those who hand back others at that moment,
	// and these wait until nobody vouches for them.
	purge := map[string]string{workStream: "work"}
	if whole { // results of a job that was cut short are kept for who goes on with it
		purge = map[string]string{resultStream: "result", causeStream: "cause"}
	}
	for name, what := range purge {
		stream, err := s.stream(ctx, name)
		if err == nil {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(s.of(what, s.job)))
		}
		if err != nil {
			s.Log.Debug("the queue is not clean; it forgets by itself", "stream", name, "cause", err)
		}
	}
}
