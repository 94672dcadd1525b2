package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/internal/fleet"
)

// What a cluster answers of a stream or a consumer whose servers are all away.
const (
	codeOffline         = 10118
	codeConsumerOffline = 10119
)

// lost reports whether err says that the server or its streams are away, which
// come back or are made again.
func lost(err error) bool {
	for _, e := range []error{
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrNoStreamResponse, jetstream.ErrBucketNotFound, jetstream.ErrNoHeartbeat, jetstream.ErrConsumerDeleted,
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionReconnecting, nats.ErrDisconnected, nats.ErrNoServers, nats.ErrReconnectBufExceeded,
		context.DeadlineExceeded, nats.ErrConnectionClosed, jetstream.ErrAsyncPublishTimeout, nats.ErrStaleConnection, jetstream.ErrJetStreamNotEnabled,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == codeOffline || api.ErrorCode == codeConsumerOffline)
}

// listen passes on what happens to shards of the job until stop is called;
// the channel that it returns is closed when nobody speaks any more.
func (s *submission) listen(ctx context.Context) (ended <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		from := jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{s.of("result", s.job)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.began + 1,
		}
		s.ear.listen(ctx, func(ctx context.Context) {
			s.follow(ctx, resultStream, from, s.hear)
			from.DeliverPolicy, from.OptStartSeq = jetstream.DeliverAllPolicy, 0 // of a new stream
		})
	}()
	return done, cancel
}

// ear listens to a stream that may be lost and made again.
type ear struct {
	anew atomic.Pointer[context.CancelFunc]
}

// listen calls follow again and again until ctx is over, whose own context ends
// when the stream was made again: its numbers begin at 1 then, and who waits for
// higher ones would hear nothing.
func (e *ear) listen(ctx context.Context, follow func(context.Context)) {
	for ctx.Err() == nil {
		this, end := context.WithCancel(ctx)
		e.anew.Store(&end)
		follow(this)
		end()
	}
}

// renew has it listen to the stream that there is now.
func (e *ear) renew() {
	if end := e.anew.Load(); end != nil {
		(*end)()
	}
}

// follow gives messages of a stream to each, until ctx is over, whatever becomes
// of the server meanwhile.
func (c *conn) follow(ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig, each func(context.Context, jetstream.Msg)) {
	for ctx.Err() == nil {
		if err := c.read(ctx, stream, cfg, each); err != nil && ctx.Err() == nil {
			c.Log.Debug("a stream is read again", "stream", stream, "cause", err)
			if cfg.DeliverPolicy == jetstream.DeliverByStartSequencePolicy && lost(err) {
				cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverAllPolicy, 0 // its numbers may be others now
			}
			select {
			case <-ctx.Done():
			case <-time.After(250 * time.Millisecond):
			}
		}
	}
}

func (c *conn) read(ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig, each func(context.Context, jetstream.Msg)) error {
	start, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	consumer, err := c.js.OrderedConsumer(start, stream, cfg)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(64), jetstream.PullHeartbeat(time.Second), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		each(ctx, m)
	}
}

// hear makes an event of a result.
func (s *submission) hear(ctx context.Context, m jetstream.Msg) {
	p, ok := placeOf(m.Subject())
	if !ok {
		return
	}
	var seq uint64
	if meta, err := m.Metadata(); err == nil {
		seq = meta.Sequence.Stream
	}
	s.tell(ctx, s.unseal(ctx, p, seq, m.Subject(), m.Headers(), m.Data()))
}

func (s *submission) tell(ctx context.Context, e event) {
	select {
	case s.events <- e:
	case <-s.over:
	case <-ctx.Done():
	}
}

// fetch reads a result that the server has.
func (s *submission) fetch(ctx context.Context, p place) (event, error) {
	stream, err := s.stream(ctx, resultStream)
	if err != nil {
		return event{}, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, p.result())
	if err != nil {
		return event{}, err
	}
	return s.unseal(ctx, p, m.Sequence, m.Subject, m.Header, m.Data), nil
}

// unseal checks a result, and brings a large one.
func (s *submission) unseal(ctx context.Context, p place, seq uint64, subject string, h nats.Header, data []byte) event {
	v := event{tail: p.tail(), seq: seq}
	e, err := open(subject, h, data)
	v.worker = e.worker
	if e.key != "" {
		v.worker = e.key
	}
	if err == nil {
		if v.barred = s.barred(e.worker, e.key); v.barred {
			err = errors.New("its worker is excluded")
		} else {
			err = s.vouched(ctx, e)
		}
	}
	if err == nil && e.stored >= 0 {
		data, err = s.large(ctx, p, e)
	}
	if err != nil {
		v.err = err
		return v
	}
	v.result = &fleet.Result{Index: p.index, Worker: v.worker, Body: data}
	v.deliveries = e.tries
	return v
}

// vouched returns why nobody answers for a result, or nil. Where this end has a key,
// workers have: a result that nobody has signed may be anybody's in anybody's name,
// and so may one that is signed by a key which somebody has just made. Who speaks as
// a worker has shown that the server knows its key.
func (s *submission) vouched(ctx context.Context, e envelope) error {
	switch {
	case s.key == nil:
		return nil
	case e.key == "":
		return errors.New("it is not signed")
	case !s.crew.knows(ctx, e.key):
		return errors.New("it is signed by a key that no worker came with")
	}
	return nil
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
	if fleet.DigestOfBytes(data) != e.digest {
		return nil, errors.New("its body is not what its digest says")
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(e.parts(p)+"*")); err != nil {
		s.Log.Debug("a large result stays in its stream, which forgets it by itself", "cause", err)
	}
	return data, nil
}

// take is what an event comes to: a result for the caller, or nil.
func (s *submission) take(ctx context.Context, e event) (*fleet.Result, error) {
	a := s.open[e.tail]
	if a == nil { // a second one, or of a shard that is not drawn yet: it is kept
		if e.result != nil {
			s.had[e.tail] = true
		}
		return nil, nil
	}
	switch {
	case e.dead && e.err == nil && a.Not != "" && a.tries < 4*fleet.MaxTries && s.crew.another(a.Not):
		return nil, s.send(ctx, a) // it was handed back only, by the one who must not
	case e.dead:
		delete(s.open, e.tail)
		s.count(func(c *Counts) { c.Dead++ })
		return &fleet.Result{Index: a.index, Deliveries: e.deliveries, Err: fleet.GivenUp(s.job, a.index, e.deliveries, e.err)}, nil
	case e.err != nil:
		return s.refuse(ctx, a, e)
	}
	delete(s.open, e.tail)
	s.count(func(c *Counts) {
		c.Shards++
		c.Bytes += uint64(len(e.result.Body))
		if e.deliveries > 1 {
			c.Redelivered++
		}
	})
	e.result.Deliveries = e.deliveries
	return e.result, nil
}

// refuse takes a result out of the stream that is none, and asks again.
func (s *submission) refuse(ctx context.Context, a *asked, e event) (*fleet.Result, error) {
	s.count(func(c *Counts) { c.Refused++ })
	a.doubt = true
	if e.barred {
		a.tries-- // who is excluded and does not go costs the shard nothing
	} else {
		s.Log.Warn("a result is refused", "worker", e.worker, "job", s.job, "shard", a.index, "cause", e.err)
	}
	if a.tries >= 2*fleet.MaxTries {
		delete(s.open, e.tail)
		return &fleet.Result{Index: a.index, Deliveries: a.tries, Err: fleet.GivenUp(s.job, a.index, a.tries, fmt.Errorf("a result of worker %s: %w", e.worker, e.err))}, nil
	}
	stream, err := s.stream(ctx, resultStream)
	if err == nil && e.seq > 0 {
		err = stream.DeleteMsg(ctx, e.seq)
	}
	if err != nil && !lost(err) && !errors.Is(err, jetstream.ErrMsgNotFound) && !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil, s.explain(err, "a result that is none cannot be taken out")
	}
	s.count(func(c *Counts) { c.Resubmitted++ })
	return nil, s.send(ctx, a)
}
