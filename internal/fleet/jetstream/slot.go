package jetstream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/internal/fleet"
)

// aloneFrom is the delivery from which a shard is computed with nothing beside
// it: if it ends its worker, it takes no innocent one with it.
const aloneFrom = 3

// heartbeat is how often the server says to who waits that it is there. Whoever
// hears nothing for twice as long waits anew, and a shard that was on its way to
// it comes again only after AckWait: so a server that is slow for a moment must
// not look like one that is dead. Whoever comes back to a server asks anew at once.
const heartbeat = 4 * time.Second

// shyness is half of how long a worker takes nothing after it was handed a shard
// that another is to compute, and so on: so that it does not get it again.
const shyness = 5 * time.Millisecond

// slot takes one shard after the other. A result is on its way while the next shard
// is computed, one at a time.
func (k *worker) slot(hold context.Context, queues []jetstream.Consumer) {
	var way sync.WaitGroup
	defer way.Wait()
	for k.draining.Err() == nil {
		if wait := time.Until(time.Unix(0, k.shy.Load())); wait > 0 {
			select {
			case <-k.draining.Done():
			case <-time.After(wait):
			}
			continue
		}
		m, err := k.next(queues)
		switch {
		case m != nil:
			if deliver := k.handle(hold, m); deliver != nil {
				way.Wait()
				way.Go(deliver)
			}
		case err != nil && k.draining.Err() == nil:
			k.Log.Debug("the queue does not answer", "cause", err)
			select {
			case <-k.draining.Done():
			case <-time.After(250 * time.Millisecond):
			}
		}
	}
}

// next waits a while for a shard; nil is none. Shards of a label go first.
func (k *worker) next(queues []jetstream.Consumer) (jetstream.Msg, error) {
	k.alone.RLock() // while a shard is computed alone nothing is taken
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
	ctx, cancel := k.line.within(k.draining, wait)
	defer cancel()
	batch, err := queues[last].Fetch(1, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(heartbeat))
	if m, err := one(batch, err); m != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return m, err
	}
	return nil, nil
}

// one is the message of a batch of one, or nil.
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

// handle computes a shard. If there is a result, deliver sees to it that it is kept
// before the shard is done with.
func (k *worker) handle(hold context.Context, m jetstream.Msg) (deliver func()) {
	p, ok := placeOf(m.Subject())
	meta, err := m.Metadata()
	if !ok || err != nil {
		_ = m.Term() // nobody can compute it
		return nil
	}
	tries := int(meta.NumDelivered)
	shard, err := decodeWork(p, m.Headers(), m.Data())
	if err != nil {
		k.fail(m, p, tries, err)
		return nil
	}
	if shard.Not != "" && (shard.Not == k.Name || shard.Not == k.id) {
		pause := shyness << min(tries, 6)
		k.shy.Store(time.Now().Add(pause).UnixNano())
		_ = m.NakWithDelay(pause / 4) // for somebody else; if it is lost, the clock hands it on
		return nil
	}
	vouching, end := context.WithCancel(hold)
	defer func() {
		if deliver == nil {
			end()
		}
	}()
	go k.vouch(vouching, m)
	if tries >= aloneFrom {
		k.alone.Lock()
		defer k.alone.Unlock()
	} else {
		k.alone.RLock()
		defer k.alone.RUnlock()
	}
	k.change(func(s *fleet.Worker) { s.Busy++ })
	began := time.Now()
	ctx, done := k.wanted(hold, p.job)
	defer done()
	body, err := k.compute(ctx, shard)
	k.change(func(s *fleet.Worker) {
		s.Busy--
		s.Done++
		if err != nil {
			s.Failed++
		}
		s.Seconds += (time.Since(began).Seconds() - s.Seconds) / min(float64(s.Done), 20)
	})
	switch {
	case hold.Err() != nil && err != nil:
		_ = m.NakWithDelay(0) // handed back
	case ctx.Err() != nil:
		_ = m.Term() // nobody wants it any more
	case err != nil:
		k.fail(m, p, tries, err)
	default:
		return func() {
			defer end()
			k.deliver(hold, m, p, tries, body)
		}
	}
	return nil
}

func (k *worker) compute(ctx context.Context, s fleet.Shard) ([]byte, error) {
	h := k.Handlers[s.Kind]
	if h == nil {
		return nil, refused(string(s.Kind), "this worker does not do this kind of work", "update it")
	}
	lease := k.cache.Lease()
	defer lease.Release()
	return h.Do(ctx, s, lease)
}

// vouch tells the server that the shard is still computed.
func (k *worker) vouch(ctx context.Context, m jetstream.Msg) {
	tick := time.NewTicker(k.Timings.Beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = m.InProgress() // what does not arrive is followed by the next
		}
	}
}

// fail says why a try failed, and lets the shard be tried again.
func (k *worker) fail(m jetstream.Msg, p place, tries int, err error) {
	k.Log.Warn("a shard failed", "job", p.job, "shard", p.index, "try", tries, "cause", err)
	cause := nats.NewMsg(p.cause())
	cause.Data = []byte(plain([]byte(err.Error()), maxCause))
	e := envelope{worker: k.Name, key: k.id, digest: fleet.DigestOfBytes(cause.Data), stored: -1, tries: tries}
	if cause.Header, err = e.seal(cause.Subject, k.key); err == nil {
		_ = k.nc.PublishMsg(cause) // the shard goes on without it
	}
	_ = m.NakWithDelay(time.Duration(50<<tries) * time.Millisecond)
}

// deliver publishes a result, waits until the server has it, and only then is
// done with the shard. That another was first is as good.
func (k *worker) deliver(ctx context.Context, m jetstream.Msg, p place, tries int, body []byte) {
	e := envelope{worker: k.Name, key: k.id, digest: fleet.DigestOfBytes(body), stored: -1, tries: tries}
	for {
		err := k.give(ctx, p, &e, body)
		if err == nil || taken(err) {
			if err != nil {
				k.again(p, e)
			}
			break
		}
		if ctx.Err() != nil {
			_ = m.NakWithDelay(0)
			return
		}
		if !full(err) && !lost(err) {
			k.fail(m, p, tries, k.explain(err, "a result cannot be sent"))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := m.DoubleAck(ctx); err != nil {
		k.Log.Debug("a shard is done, and the queue does not know it yet", "job", p.job, "shard", p.index, "cause", err)
	}
}

// give publishes a result. A body that is too large for a message lies beside it, in
// parts; one that is there already is of the same try, and the same.
func (k *worker) give(ctx context.Context, p place, e *envelope, body []byte) error {
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

// again tells the coordinator what came second: results of one shard that differ
// say that it is no pure function, or that somebody lies.
func (k *worker) again(p place, e envelope) {
	m := nats.NewMsg(p.again())
	var err error
	if m.Header, err = e.seal(m.Subject, k.key); err == nil {
		_ = k.nc.PublishMsg(m) // for statistics only
	}
}
