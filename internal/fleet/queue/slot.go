package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/internal/base/cost"
)

// aloneFrom is the delivery from which on a shard is computed alone. If it crashes its worker,
// it then affects no other shard.
const aloneFrom = 3

// idleHeartbeat is how often the server confirms a pending request for a shard. A worker that
// receives no confirmation for twice as long repeats its request, and a shard that was on its
// way is delivered again only after AckWait. So the interval is long enough that a server that
// is slow for a moment does not look dead. A worker that reconnects repeats its request at
// once.
const idleHeartbeat = 4 * time.Second

// slot computes one shard after another. While it computes a shard, the result of the previous
// one may still be on its way.
func (k *worker) slot(hold context.Context, queues []jetstream.Consumer) {
	var way sync.WaitGroup
	defer way.Wait()
	for k.draining.Err() == nil {
		m, err := k.next(queues)
		switch {
		case m != nil:
			if deliver := k.handle(hold, m); deliver != nil {
				way.Wait()
				way.Go(deliver)
			}
		case err != nil && k.draining.Err() == nil:
			k.Log.Debug("the queue does not answer", "cause", err)
			pause(k.draining, 250*time.Millisecond)
		}
	}
}

// next waits some time for a shard; it returns nil if none arrives. Shards with a label come
// first.
func (k *worker) next(queues []jetstream.Consumer) (jetstream.Msg, error) {
	k.alone.RLock() // while a shard is computed alone, no other is taken
	//lint:ignore SA2001 it is waited for, and nothing else
	k.alone.RUnlock()
	last := len(queues) - 1
	for _, q := range queues[:last] {
		batch, err := q.FetchNoWait(1)
		if m, err := one(batch, err); m != nil || err != nil {
			return m, err
		}
	}
	wait := 30 * time.Second
	if last > 0 {
		wait = time.Second
	}
	ctx, cancel := context.WithTimeout(k.draining, wait)
	defer cancel()
	defer context.AfterFunc(k.line.Load(), cancel)() // after a reconnect the server has forgotten the request
	batch, err := queues[last].Fetch(1, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(idleHeartbeat))
	if m, err := one(batch, err); m != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return m, err
	}
	return nil, nil
}

// one returns the message of a batch of at most one, or nil.
func one(batch jetstream.MessageBatch, err error) (jetstream.Msg, error) {
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		return m, nil
	}
	if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, jetstream.ErrNoMessages) {
		return nil, err
	}
	return nil, nil
}

// handle computes a shard. If the shard has a result, deliver sends it and then acknowledges
// the shard.
func (k *worker) handle(hold context.Context, m jetstream.Msg) (deliver func()) {
	p, ok := placeOf(m.Subject())
	meta, err := m.Metadata()
	if !ok || err != nil {
		_ = m.Term() // no worker can compute it
		return nil
	}
	tries := int(meta.NumDelivered)
	shard, err := k.decodeWork(p, m.Headers(), m.Data())
	if err == nil && tries > MaxTries {
		err = errors.New("every worker that tried the shard crashed or lost its connection")
	}
	if err != nil {
		return k.fail(hold, m, p, tries, err)
	}
	beating, end := context.WithCancel(hold)
	go k.heartbeat(beating, m)
	if tries >= aloneFrom {
		k.alone.Lock()
		defer k.alone.Unlock()
	} else {
		k.alone.RLock()
		defer k.alone.RUnlock()
	}
	k.change(func(s *Worker) { s.Busy++ })
	began := time.Now()
	ctx, done := k.wanted(hold, p.job)
	defer done()
	used, measured := new(cost.Meter), k.cpu.Begin()
	body, err := k.Handlers[shard.Kind].Do(cost.With(ctx, used), shard)
	cpu := measured()
	if k.Child {
		cpu = 0
	}
	k.change(func(s *Worker) {
		s.Busy--
		s.Done++
		if err != nil {
			s.Failed++
		}
		s.Seconds += (time.Since(began).Seconds() - s.Seconds) / min(float64(s.Done), 20)
	})
	switch {
	case hold.Err() != nil && err != nil:
		_ = m.NakWithDelay(0) // returned to the queue
	case ctx.Err() != nil:
		_ = m.Term() // no coordinator wants it any more
	case err != nil:
		deliver = k.fail(hold, m, p, tries, err)
	default:
		deliver = func() { k.deliver(hold, m, p, envelope{tries: tries, used: used.Models(), cpu: cpu}, body) }
	}
	give := deliver
	if give == nil {
		end()
		return nil
	}
	return func() {
		defer end()
		give()
	}
}

// heartbeat tells the server at intervals that the shard is still being computed.
func (k *worker) heartbeat(ctx context.Context, m jetstream.Msg) {
	tick := time.NewTicker(k.Timings.Beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = m.InProgress() // a lost heartbeat is followed by the next
		}
	}
}

// fail returns a shard to the queue. After the last try, deliver reports the failure as its
// result.
func (k *worker) fail(hold context.Context, m jetstream.Msg, p place, tries int, err error) (deliver func()) {
	k.Log.Warn("a shard failed", "job", p.job, "shard", p.index, "try", tries, "cause", err)
	if tries < MaxTries {
		_ = m.NakWithDelay(time.Duration(50<<tries) * time.Millisecond)
		return nil
	}
	why := []byte(plain([]byte(err.Error()), maxCause))
	_ = k.nc.Publish(ofWorker("dead", k.id, k.Name), why) // informational
	return func() { k.deliver(hold, m, p, envelope{tries: MaxTries, failed: true}, why) }
}

// deliver publishes a result, waits until the server has it, and only then acknowledges the
// shard. If another result came first, that is fine.
func (k *worker) deliver(ctx context.Context, m jetstream.Msg, p place, e envelope, body []byte) {
	e.worker, e.key, e.digest, e.stored = k.Name, k.id, DigestOfBytes(body), -1
	err := k.until(ctx, "a result cannot be sent", nil, func() error {
		if err := k.give(ctx, p, &e, body); !taken(err) {
			return err
		}
		return nil
	})
	if err != nil { // another worker will compute it
		k.Log.Warn("the server did not accept a result", "job", p.job, "shard", p.index, "cause", err)
		_ = m.NakWithDelay(0)
		return
	}
	_ = m.Ack() // if this is lost, the shard is delivered again, but its result exists
}

// give publishes a result. A body that is too large for a message is published before it, in
// parts. A part that already exists is from the same try and has the same bytes.
func (k *worker) give(ctx context.Context, p place, e *envelope, body []byte) error {
	// A server that has lost its streams does not report it, because the coordinator subscribes
	// to the subject.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+len(body)/most)*1500*time.Millisecond)
	defer cancel()
	m := nats.NewMsg(p.result())
	if m.Data = body; len(body) > most {
		m.Data, e.stored = nil, len(body)
		i := 0
		for data := range slices.Chunk(body, most) {
			part := nats.NewMsg(e.part(p, i))
			part.Data = data
			if err := k.publish(ctx, part); err != nil && !taken(err) {
				return err
			}
			i++
		}
	}
	var err error
	if m.Header, err = e.seal(m.Subject, k.key); err != nil {
		return err
	}
	return k.publish(ctx, m)
}
