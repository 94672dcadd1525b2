package queue

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/core/fault"
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
func (a *Admin) Status(ctx context.Context) (*Status, error) { return a.status(ctx) }

// Status is how the fleet is now, as Admin's.
func (r *Remote) Status(ctx context.Context) (*Status, error) { return r.status(ctx) }

func (c *conn) status(ctx context.Context) (*Status, error) {
	s := &Status{Workers: []Worker{}, Queues: []Queue{}}
	there, _, err := c.subjects(ctx, workersStream, "merit.worker.>")
	if errors.Is(err, jetstream.ErrStreamNotFound) { // nobody has asked for anything yet
		s.Workers, err = c.listen(ctx)
		return s, err
	}
	if err != nil {
		return nil, c.explain(err, "the workers cannot be seen")
	}
	stream, err := c.stream(ctx, workersStream)
	if err != nil {
		return nil, c.explain(err, "the workers cannot be seen")
	}
	names := slices.Collect(maps.Keys(there))
	said, err := ask(ctx, len(names), func(ctx context.Context, i int) (*jetstream.RawStreamMsg, error) {
		return stream.GetLastMsgForSubject(ctx, names[i])
	})
	if err != nil {
		return nil, c.explain(err, "the workers cannot be seen")
	}
	for _, m := range said {
		if w, err := decodeWorker(m.Subject, m.Data); err == nil && w.Slots > 0 {
			w.Seen = m.Time
			s.Workers = append(s.Workers, w)
		}
	}
	slices.SortFunc(s.Workers, byName)
	if s.Queues, err = c.queued(ctx); err != nil {
		return nil, c.explain(err, "the queues cannot be seen")
	}
	dead, err := c.js.Stream(ctx, deadStream)
	if err != nil {
		return nil, c.explain(err, "the shards that were given up cannot be seen")
	}
	s.Dead = dead.CachedInfo().State.Msgs
	return s, nil
}

// ask has messages of a stream brought, many at one time, and returns those that are
// there. Streams are read one message after the other: a watcher that might have the
// server send what workers write to where it likes could speak for a coordinator.
func ask(ctx context.Context, n int, get func(ctx context.Context, i int) (*jetstream.RawStreamMsg, error)) ([]*jetstream.RawStreamMsg, error) {
	all := make([]*jetstream.RawStreamMsg, n)
	many, ctx := errgroup.WithContext(ctx)
	many.SetLimit(askedAtOnce)
	for i := range all {
		many.Go(func() (err error) {
			if all[i], err = get(ctx, i); errors.Is(err, jetstream.ErrMsgNotFound) {
				all[i], err = nil, nil // it is gone
			}
			return err
		})
	}
	err := many.Wait()
	return slices.DeleteFunc(all, func(m *jetstream.RawStreamMsg) bool { return m == nil }), err
}

// askedAtOnce is how many messages are asked for at one time.
const askedAtOnce = 64

// byName orders workers; a name may be claimed by several keys.
func byName(a, b Worker) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
}

// hearing is how long it takes until every worker that waits for the first run has
// said how it is.
const hearing = 1200 * time.Millisecond

// listen returns the workers that speak now: before the first run nothing keeps
// what they say.
func (c *conn) listen(ctx context.Context) ([]Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	heard, err := c.nc.SubscribeSync("merit.worker.>")
	if err != nil {
		return nil, c.explain(err, "the workers cannot be heard")
	}
	defer func() { _ = heard.Unsubscribe() }()
	workers := map[string]Worker{}
	for len(workers) < maxCrew {
		m, err := heard.NextMsgWithContext(ctx)
		if err != nil { // in time, or because the caller does not want to know any more
			break
		}
		if w, err := decodeWorker(m.Subject, m.Data); err == nil && w.Slots > 0 {
			w.Seen = time.Now().UTC()
			workers[m.Subject] = w
		}
	}
	return append([]Worker{}, slices.SortedFunc(maps.Values(workers), byName)...), nil
}

func (c *conn) queued(ctx context.Context) ([]Queue, error) {
	work, err := c.js.Stream(ctx, workStream)
	if err != nil {
		return nil, err
	}
	queues := []Queue{}
	list := work.ListConsumers(ctx)
	for info := range list.Info() {
		build, label, ok := strings.Cut(info.Name, "_")
		if !ok {
			continue // another's
		}
		q := Queue{Build: build, Label: label, Waiting: info.NumPending, Underway: info.NumAckPending, Redelivered: info.NumRedelivered}
		if oldest, err := work.GetMsg(ctx, info.AckFloor.Stream+1, jetstream.WithGetMsgSubject("merit.work."+build+"."+label+".>")); err == nil {
			q.Oldest = max(0, time.Since(oldest.Time))
		}
		queues = append(queues, q)
	}
	slices.SortFunc(queues, func(a, b Queue) int { return cmp.Compare(a.Build+a.Label, b.Build+b.Label) })
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
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	go func() { // a server answers nothing to who may not ask: what it says comes beside
		select {
		case denied := <-a.hurt:
			refuse(a.denied(denied, "the worker cannot be told"))
		case <-ctx.Done():
		}
	}()
	err := a.tell(ctx, worker)
	if denied := fault.As(context.Cause(ctx)); err != nil && denied != nil {
		return denied
	}
	if isAny(err, nats.ErrNoResponders, errNobody) {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: worker, What: "no worker of this name is there", Hint: "merit fleet status lists them"}
	}
	return a.explain(err, "the worker cannot be told")
}

// errNobody is that no worker has a name.
var errNobody = errors.New("there is none")

// tell tells all workers of a name to drain.
func (a *Admin) tell(ctx context.Context, worker string) error {
	s, err := a.Status(ctx)
	if err != nil {
		return err
	}
	err = errNobody
	for _, w := range s.Workers {
		if w.Name == worker {
			if _, err = a.nc.RequestWithContext(ctx, ofWorker("control", w.Key, w.Name), []byte("drain")); err != nil {
				return err
			}
		}
	}
	return err
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
	if worker != "" && !named(worker) {
		return refused(worker, "it is no name of a worker", "merit fleet status lists them")
	}
	line := func(m *jetstream.RawStreamMsg) bool {
		parts := strings.Split(m.Subject, ".")
		name := parts[len(parts)-1]
		if len(parts) != 4 || !named(name) || worker != "" && name != worker {
			return true
		}
		return each(Line{name, m.Time, plain(m.Data, maxLog)})
	}
	err := a.each(ctx, logStream, follow, line)
	for follow && errors.Is(err, jetstream.ErrStreamNotFound) && pause(ctx, time.Second) { // the first run makes the stream
		err = a.each(ctx, logStream, follow, line)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || follow && ctx.Err() != nil {
		return nil
	}
	return a.explain(err, "the logs cannot be read")
}

// each gives the messages of a stream that are there now, in their order, and with
// follow those that come, until each returns false.
func (a *Admin) each(ctx context.Context, name string, follow bool, each func(*jetstream.RawStreamMsg) bool) error {
	for next := uint64(0); ; {
		stream, err := a.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		state := stream.CachedInfo().State
		next = max(next, state.FirstSeq)
		for next <= state.LastSeq && state.Msgs > 0 {
			last := min(next+askedAtOnce-1, state.LastSeq)
			messages, err := ask(ctx, int(last-next+1), func(ctx context.Context, i int) (*jetstream.RawStreamMsg, error) {
				return stream.GetMsg(ctx, next+uint64(i))
			})
			if err != nil {
				return err
			}
			for _, m := range messages {
				if !each(m) {
					return nil
				}
			}
			next = last + 1
		}
		if !follow {
			return nil
		}
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
}
