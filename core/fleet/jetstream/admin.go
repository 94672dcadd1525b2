package jetstream

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/fleet"
)

// Admin looks at a fleet, and tells workers to go.
type Admin struct{ *conn }

// Look comes to a server as an admin. It makes nothing there.
func Look(ctx context.Context, o Options) (*Admin, error) {
	o.Build = "admin"
	c, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Admin{c}, nil
}

// Close leaves.
func (a *Admin) Close() error {
	a.nc.Close()
	return nil
}

// Status is how the fleet is now: what workers last said of themselves, and the queues.
func (a *Admin) Status(ctx context.Context) (*fleet.Status, error) {
	s := &fleet.Status{Workers: []fleet.Worker{}, Queues: []fleet.Queue{}}
	err := a.each(ctx, workersStream, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy}, func(m jetstream.Msg) bool {
		if w, err := decodeWorker(m.Subject(), m.Data()); err == nil && w.Slots > 0 {
			if meta, err := m.Metadata(); err == nil {
				w.Seen = meta.Timestamp
			}
			s.Workers = append(s.Workers, w)
		}
		return true
	}, false)
	if errors.Is(err, jetstream.ErrStreamNotFound) { // nobody has asked for anything yet
		s.Workers, err = a.listen(ctx)
		return s, err
	}
	if err != nil {
		return nil, a.explain(err, "the workers cannot be seen")
	}
	slices.SortFunc(s.Workers, func(a, b fleet.Worker) int { return cmp.Compare(a.Name, b.Name) })
	if s.Queues, err = a.queues(ctx); err != nil {
		return nil, a.explain(err, "the queues cannot be seen")
	}
	dead, err := a.js.Stream(ctx, deadStream)
	if err != nil {
		return nil, a.explain(err, "the shards that were given up cannot be seen")
	}
	s.Dead = dead.CachedInfo().State.Msgs
	return s, nil
}

// hearing is how long it takes until every worker that waits for the first run has
// said how it is.
const hearing = 1200 * time.Millisecond

// listen returns the workers that speak now: before the first run nothing keeps
// what they say.
func (a *Admin) listen(ctx context.Context) ([]fleet.Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	heard, err := a.nc.SubscribeSync("merit.worker.*")
	if err != nil {
		return nil, a.explain(err, "the workers cannot be heard")
	}
	defer func() { _ = heard.Unsubscribe() }()
	workers := map[string]fleet.Worker{}
	for len(workers) < maxCrew {
		m, err := heard.NextMsgWithContext(ctx)
		if err != nil { // in time, or because the caller does not want to know any more
			break
		}
		if w, err := decodeWorker(m.Subject, m.Data); err == nil && w.Slots > 0 {
			w.Seen = time.Now().UTC()
			workers[w.Name] = w
		}
	}
	byName := func(a, b fleet.Worker) int { return cmp.Compare(a.Name, b.Name) }
	return append([]fleet.Worker{}, slices.SortedFunc(maps.Values(workers), byName)...), nil
}

// Status is how the fleet is now, as Admin's.
func (f *Fleet) Status(ctx context.Context) (*fleet.Status, error) {
	return (&Admin{f.conn}).Status(ctx)
}

func (a *Admin) queues(ctx context.Context) ([]fleet.Queue, error) {
	work, err := a.js.Stream(ctx, workStream)
	if err != nil {
		return nil, err
	}
	queues := []fleet.Queue{}
	list := work.ListConsumers(ctx)
	for info := range list.Info() {
		build, label, ok := strings.Cut(info.Name, "_")
		if !ok {
			continue // another's
		}
		q := fleet.Queue{Build: build, Label: label, Waiting: info.NumPending, Underway: info.NumAckPending, Redelivered: info.NumRedelivered}
		if oldest, err := work.GetMsg(ctx, info.AckFloor.Stream+1, jetstream.WithGetMsgSubject("merit.work."+build+"."+label+".>")); err == nil {
			q.Oldest = max(0, time.Since(oldest.Time))
		}
		queues = append(queues, q)
	}
	slices.SortFunc(queues, func(a, b fleet.Queue) int { return cmp.Compare(a.Build+a.Label, b.Build+b.Label) })
	return queues, list.Err()
}

// Drain tells a worker to finish what it has and go; it returns when the worker
// has heard it.
func (a *Admin) Drain(ctx context.Context, worker string) error {
	if !named(worker) {
		return refused(worker, "it is no name of a worker", "merit fleet status lists them")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var refusal atomic.Pointer[error]
	go func() { // a server answers nothing to who may not ask: what it says comes beside
		select {
		case denied := <-a.hurt:
			refusal.Store(&denied)
			cancel()
		case <-ctx.Done():
		}
	}()
	_, err := a.nc.RequestWithContext(ctx, "merit.control."+worker, []byte("drain"))
	if denied := refusal.Load(); denied != nil {
		return a.denied(*denied, "the worker cannot be told")
	}
	if errors.Is(err, nats.ErrNoResponders) {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: worker, What: "no worker of this name is there", Hint: "merit fleet status lists them"}
	}
	return a.explain(err, "the worker cannot be told")
}

// Line is one of a worker's log.
type Line struct {
	Worker string
	At     time.Time
	Text   string // without what a terminal would obey
}

// Logs gives each line that a worker, or with an empty name any, has logged
// lately; with follow, also those that come, until ctx ends or each returns false.
func (a *Admin) Logs(ctx context.Context, worker string, follow bool, each func(Line) bool) error {
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy}
	if worker != "" {
		if !named(worker) {
			return refused(worker, "it is no name of a worker", "merit fleet status lists them")
		}
		cfg.FilterSubjects = []string{"merit.log." + worker}
	}
	err := a.each(ctx, logStream, cfg, func(m jetstream.Msg) bool {
		name := strings.TrimPrefix(m.Subject(), "merit.log.")
		meta, err := m.Metadata()
		if err != nil || !named(name) {
			return true
		}
		return each(Line{name, meta.Timestamp, plain(m.Data(), maxLog)})
	}, follow)
	if errors.Is(err, jetstream.ErrStreamNotFound) || follow && ctx.Err() != nil {
		return nil
	}
	return a.explain(err, "the logs cannot be read")
}

// each gives the messages of a stream that are there now, and with follow those
// that come.
func (a *Admin) each(ctx context.Context, name string, cfg jetstream.OrderedConsumerConfig, each func(jetstream.Msg) bool, follow bool) error {
	consumer, err := a.js.OrderedConsumer(ctx, name, cfg)
	if err != nil {
		return err
	}
	info, err := consumer.Info(ctx)
	if err != nil || !follow && info.NumPending == 0 {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for left := info.NumPending; follow || left > 0; left-- {
		m, err := messages.Next()
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if !each(m) {
			return nil
		}
	}
	return nil
}
