package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
)

// Bounds of what is sent before the server has said that it has what was sent
// before: a fleet far away would get one shard in each time that a message goes
// there and back, and the server walks over all workers that wait each time that
// its queue is empty again.
const (
	burstShards = 256
	burstBytes  = 4 << 20
)

// burst draws shards as there are places, and sends them. More is whether there
// may be others.
func (s *submission) burst(ctx context.Context, next func() (fleet.Shard, bool)) (more bool, err error) {
	var sent []*asked
	places := s.window() - len(s.open)
	for size := 0; len(sent) < min(places, burstShards) && size < burstBytes; {
		shard, ok := next()
		if !ok {
			if err := s.sendAll(ctx, sent); err != nil {
				return false, err
			}
			return false, s.drawn.End()
		}
		a, err := s.ask(ctx, shard)
		if err != nil {
			return false, err
		}
		if a != nil {
			sent, size = append(sent, a), size+len(a.Body)
		} else {
			places--
		}
	}
	return true, s.sendAll(ctx, sent)
}

// ask returns a shard that is to be sent, or nil if its result is there already,
// and is taken.
func (s *submission) ask(ctx context.Context, shard fleet.Shard) (*asked, error) {
	if err := s.drawn.Add(shard); err != nil {
		return nil, err
	}
	a := &asked{Shard: shard, place: s.placeFor(s.job, shard)}
	s.open[a.tail()] = a
	if s.had[a.tail()] {
		e, err := s.fetch(ctx, a.place)
		if err == nil {
			go func() { // the one who takes events is the one who draws
				select {
				case s.events <- e:
				case <-ctx.Done():
				}
			}()
			return nil, nil
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, s.explain(err, "a result cannot be read")
		}
	}
	return a, s.supply(ctx, a)
}

// sendAll sends shards one behind the other, and those again that the server does
// not say that it has before the connection's patience is over.
func (s *submission) sendAll(ctx context.Context, all []*asked) error {
	if len(all) == 1 {
		return s.send(ctx, all[0])
	}
	acks := make([]jetstream.PubAckFuture, len(all))
	for i, a := range all {
		acks[i], _ = s.js.PublishMsgAsync(encodeWork(a.place, a.Shard)) // nil is sent again below
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

// supply puts what a shard needs again if the server has lost it. What nobody put
// here is for its worker to miss.
func (s *submission) supply(ctx context.Context, a *asked) error {
	for _, d := range a.Needs {
		s.mutex.Lock()
		there := s.there[d]
		s.mutex.Unlock()
		if there {
			continue
		}
		if err := s.upload(ctx, d); err != nil && !errors.Is(err, fault.Of(fault.Fleet, fault.Missing)) {
			return err
		}
	}
	return nil
}

// send puts a shard into the queue; one that is there already is as good. It
// waits while there is no room and while the server is away.
func (s *submission) send(ctx context.Context, a *asked) error {
	for warned := false; ; warned = true {
		err := s.publish(ctx, encodeWork(a.place, a.Shard))
		if err == nil || taken(err) {
			if err == nil {
				s.isSent(a)
			}
			a.at = time.Now()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !full(err) && !lost(err) {
			return s.explain(err, "a shard cannot be put into the queue")
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) { // lost, or servers choose who leads it
			if same, err := s.standing(ctx); err == nil && !same {
				if err := s.remake(ctx); err != nil {
					return err
				}
			}
		}
		if !warned {
			s.Log.Warn("the queue of the fleet has no room or is away; waiting", "cause", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}
