package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/base/cputime"
)

// fetch reads a result from the server's stream and sends it as an event.
func (s *submission) fetch(ctx context.Context, p place) {
	stream, err := s.stream(ctx, resultStream)
	if err != nil {
		return // watch looks for it again
	}
	if m, err := stream.GetLastMsgForSubject(ctx, p.result()); err == nil {
		e := s.unseal(ctx, p, m.Subject, m.Header, m.Data)
		e.found = true
		s.tell(e)
	}
}

// unseal checks a result and fetches a large body. If this process has a key, workers have
// keys, too, and an unsigned result is refused, because anyone could have sent it in any name.
func (s *submission) unseal(ctx context.Context, p place, subject string, h nats.Header, data []byte) event {
	v := event{place: p}
	if v.envelope, v.err = open(subject, h, data); v.err != nil {
		return v
	}
	v.barred = s.barred(v.worker, v.envelope.key)
	switch {
	case v.barred:
		v.err = errors.New("the worker is excluded")
	case s.conn.key != nil && v.envelope.key == "":
		v.err = errors.New("the result is not signed")
	case v.stored >= 0:
		data, v.err = s.large(ctx, p, v.envelope)
	}
	v.result = Result{Index: p.index, Worker: v.by(), Body: data, Deliveries: v.envelope.tries}
	return v
}

// large fetches a body that did not fit into a message, and deletes it from the server.
func (s *submission) large(ctx context.Context, p place, e envelope) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, err := s.stream(ctx, bodyStream)
	if err != nil {
		return nil, err
	}
	var data []byte // grows with the parts received, not with the size that the worker claims
	for i := 0; len(data) < e.stored; i++ {
		part, err := stream.GetLastMsgForSubject(ctx, e.part(p, i))
		if err != nil {
			return nil, err
		}
		if len(part.Data) == 0 || len(part.Data) > e.stored-len(data) {
			return nil, errors.New("the parts of the body do not add up to its size")
		}
		data = append(data, part.Data...)
	}
	if DigestOfBytes(data) != e.digest {
		return nil, errors.New("the body does not match its digest")
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(e.parts(p)+"*")); err != nil {
		s.Log.Debug("a large result could not be deleted; the stream deletes it when it expires", "cause", err)
	}
	return data, nil
}

// take processes an event. It returns a result for the caller, or nil.
func (s *submission) take(ctx context.Context, e event) (*Result, error) {
	a := s.open[e.tail()]
	switch before, again := s.seen[e.tail()]; {
	case a == nil && e.found: // received meanwhile
		return nil, nil
	case a == nil && e.err == nil && again: // a second result
		e.pay(ctx)
		s.count(func(c *Counts) {
			if before == e.digest {
				c.Twice++
			} else {
				c.Differing++
			}
		})
		return nil, nil
	case a == nil: // the shard is not drawn yet; remember that its result exists
		if e.err == nil {
			s.had[e.place.result()] = 1
		}
		return nil, nil
	case e.err != nil:
		return s.refuse(ctx, a, e)
	}
	delete(s.open, e.tail())
	s.seen[e.tail()] = e.digest
	e.pay(ctx)
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

// pay counts what a result cost.
func (e event) pay(ctx context.Context) {
	cost.Add(ctx, e.used)
	cputime.Add(e.cpu)
}

// dead returns the result of a shard that has used up its tries.
func (s *submission) dead(a *asked, tries int, why error) *Result {
	s.count(func(c *Counts) { c.Dead++ })
	return &Result{Index: a.index, Deliveries: tries, Err: GivenUp(s.job, a.index, tries, why)}
}

// refuse deletes an invalid result from the stream and sends the shard again.
func (s *submission) refuse(ctx context.Context, a *asked, e event) (*Result, error) {
	s.count(func(c *Counts) { c.Refused++ })
	a.doubt = true
	if e.barred {
		a.tries-- // results of an excluded worker that keeps running do not use up tries
	} else {
		s.Log.Warn("a result was refused", "worker", e.worker, "job", s.job, "shard", a.index, "cause", e.err)
	}
	if a.tries >= 2*MaxTries {
		delete(s.open, e.tail())
		return s.dead(a, a.tries, fmt.Errorf("a result of worker %s: %w", e.worker, e.err)), nil
	}
	if err := s.purge(ctx, resultStream, a.result()); err != nil && !lost(err) {
		return nil, s.explain(err, "an invalid result cannot be deleted")
	}
	s.count(func(c *Counts) { c.Resubmitted++ })
	return nil, s.send(ctx, a)
}
