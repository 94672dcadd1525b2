package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

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
	what, hint := "no worker is there", "start one with merit fleet worker --join"
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
