package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/fleet"
)

// watch looks after shards of which nothing was heard for long, and always after
// those in doubt: a result that was not told of is taken, and what the queue has lost
// is sent again. So the queue may lose all that it has.
func (s *submission) watch(ctx context.Context) error {
	for _, a := range s.open {
		if !a.doubt && time.Since(a.at) < s.Timings.Watch {
			continue
		}
		err := s.look(ctx, a)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !lost(err) {
			return s.explain(err, "the queue cannot be looked at")
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s.Log.Warn("the server has lost the streams of the fleet; they are made again, and what is missing is sent again")
			if err := s.remake(ctx); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // later
		}
	}
	return nil
}

// standing reports whether the server has the queue that shards were sent to: if
// not, it has none, or one that another Submit has made meanwhile.
func (s *submission) standing(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // of a cluster that has no leader nobody answers
	defer cancel()
	work, err := s.js.Stream(ctx, workStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return work.CachedInfo().Created.Equal(s.born), nil
}

// look finds out where a shard is.
func (s *submission) look(ctx context.Context, a *asked) error {
	e, err := s.fetch(ctx, a.place)
	if err == nil {
		go s.tell(ctx, e)
		return nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	work, err := s.stream(ctx, workStream)
	if err != nil {
		return err
	}
	_, err = work.GetLastMsgForSubject(ctx, a.work())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		s.count(func(c *Counts) { c.Resubmitted++ })
		return s.send(ctx, a)
	}
	a.at = time.Now()
	return err
}

// deadSubject is where the server says that a shard was handed out as often as it may be.
func deadSubject(build, label string) string {
	return "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + workStream + "." + consumerName(build, cmp.Or(label, anyLabel))
}

// enter makes s the one that is told of shards of its job that the server gives
// up, until leave is called.
func (s *submission) enter() (leave func()) {
	s.mutex.Lock()
	s.jobs[s.job] = s
	s.mutex.Unlock()
	s.mourn.Do(func() {
		go s.mourning.listen(s.Fleet.ctx, func(ctx context.Context) {
			s.follow(ctx, deadStream, jetstream.OrderedConsumerConfig{
				FilterSubjects: []string{deadSubject(s.Build, s.Label)}, DeliverPolicy: jetstream.DeliverAllPolicy,
			}, s.bury)
		})
	})
	return func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if s.jobs[s.job] == s {
			delete(s.jobs, s.job)
		}
	}
}

// bury makes an event of a shard that was handed out as often as it may be, and
// takes it out of the queue, where it would stay. The cause is what its last
// worker said, if one lived to say it.
func (f *Fleet) bury(ctx context.Context, m jetstream.Msg) {
	var advisory struct {
		Seq        uint64 `json:"stream_seq"`
		Deliveries int    `json:"deliveries"`
	}
	if strictjson.Unmarshal(m.Data(), &advisory) != nil || advisory.Seq == 0 {
		return
	}
	work, err := f.stream(ctx, workStream)
	if err != nil {
		return // the shard is looked after by watch, and tried again
	}
	shard, err := work.GetMsg(ctx, advisory.Seq)
	if err != nil {
		return // buried before
	}
	p, ok := placeOf(shard.Subject)
	f.mutex.Lock()
	s := f.jobs[p.job]
	f.mutex.Unlock()
	if !ok || s == nil {
		return // another coordinator's
	}
	e := event{tail: p.tail(), dead: true, deliveries: advisory.Deliveries, err: f.cause(ctx, p)}
	if err := work.DeleteMsg(ctx, advisory.Seq); err != nil {
		f.Log.Debug("a dead shard stays in the queue", "shard", p.index, "cause", err)
	}
	go s.tell(ctx, e) // its caller may be busy, and another's shards may be dead, too
}

// cause is what the last worker said that failed with a shard; nil if none did.
func (f *Fleet) cause(ctx context.Context, p place) error {
	stream, err := f.stream(ctx, causeStream)
	if err != nil {
		return nil
	}
	m, err := stream.GetLastMsgForSubject(ctx, p.cause())
	if err != nil {
		return nil
	}
	text := plain(m.Data, maxCause)
	e, err := open(p.cause(), m.Header, m.Data)
	if err == nil && (f.key == nil || f.crew.has(e.key, e.worker)) {
		text = "worker " + e.worker + ": " + text
	}
	return errors.New(text)
}

// whole reports whether the server has all of a content. It may know it and lack
// parts: who puts one and loses the server meanwhile takes back the parts, and the
// server may have heard the end of it before.
func (f *Fleet) whole(ctx context.Context, store jetstream.ObjectStore, digest fleet.Digest, size int64) (bool, error) {
	about, err := store.GetInfo(ctx, digest.Hex())
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil || int64(about.Size) != size {
		return false, err
	}
	stream, err := f.stream(ctx, "OBJ_"+contentBucket)
	if err != nil {
		return false, err
	}
	parts := fmt.Sprintf("$O.%s.C.%s", contentBucket, about.NUID)
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(parts))
	if err != nil {
		return false, err
	}
	return info.State.Subjects[parts] == uint64(about.Chunks), nil
}
