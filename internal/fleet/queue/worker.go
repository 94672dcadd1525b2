package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
)

// WorkOptions say what a worker does.
type WorkOptions struct {
	Name     string   // unique among workers: letters, digits, dashes and underscores
	Host     string   // for people only
	Slots    int      // shards that are computed at one time
	Labels   []string // words: it takes shards that want one of these, before those that want none
	Handlers map[Kind]Handler
	// OnState, if it is set, is told how the worker is whenever that changes, by
	// one goroutine at a time.
	OnState func(Worker)
	// Stop, if it is set, ends what the worker still has when it is closed: the
	// second Ctrl-C.
	Stop <-chan struct{}
}

// Work computes shards until ctx ends, or an admin tells it to drain. Then it
// takes nothing more and finishes what it has, or hands it back when the grace
// is over, and returns nil. It outlives the server for as long as that takes to
// come back. An error is why it cannot work here at all.
func Work(ctx context.Context, o Options, w WorkOptions) (err error) {
	if !named(w.Name) || w.Slots < 1 || slices.ContainsFunc(w.Labels, func(l string) bool { return !Word(l) }) {
		return refused(w.Name, "the name, the slots or a label of this worker is none", "use letters, digits and dashes, and one slot or more")
	}
	c, err := connect(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer c.nc.Close()
	k := &worker{conn: c, WorkOptions: w, asked: map[*job]struct{}{}, state: Worker{
		Name: w.Name, Key: c.id, Build: c.Build, Host: w.Host, Labels: w.Labels, Slots: w.Slots, Joined: time.Now().UTC(),
	}}
	c.Log = alsoTo(c, w.Name)
	k.change(func(*Worker) {}) // it is there
	go k.attend(c.nc.StatusChanged(nats.RECONNECTING, nats.CONNECTED, nats.CLOSED))
	k.draining, k.drain = context.WithCancel(ctx)
	defer k.drain()
	defer context.AfterFunc(c.gone, k.drain)()
	defer func() {
		if c.gone.Err() != nil {
			err = context.Cause(c.gone)
		}
	}()
	if err := k.obey(); err != nil {
		return c.explain(err, "this worker cannot be told anything")
	}
	k.announce()
	queues, err := k.join(k.draining)
	if err != nil || queues == nil {
		return err
	}
	return k.work(queues)
}

// worker is a Work under way.
type worker struct {
	*conn
	WorkOptions
	draining context.Context // over when nothing more is taken
	drain    context.CancelFunc

	alone sync.RWMutex // held for writing by a shard that is computed alone

	mutex sync.Mutex // of what follows
	state Worker
	asked map[*job]struct{} // shards that are computed
}

// job is for whom a shard is computed.
type job struct {
	name   string
	cancel context.CancelFunc
}

// attend follows the connection until it is closed.
func (k *worker) attend(changes <-chan nats.Status) {
	for now := range changes {
		if now == nats.CLOSED {
			return
		}
		k.change(func(s *Worker) { s.Away = now != nats.CONNECTED })
	}
}

// wanted returns a context that is over when nobody wants shards of a job any
// more, or ctx is.
func (k *worker) wanted(ctx context.Context, name string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{name, cancel}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.asked[j] = struct{}{}
	return ctx, func() {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		delete(k.asked, j)
		cancel()
	}
}

// unwanted ends what is computed for a job.
func (k *worker) unwanted(name string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for j := range k.asked {
		if j.name == name {
			j.cancel()
		}
	}
}

// join waits until a coordinator has made the queue, and returns the queues that
// this worker serves, those with labels first; nil if it was told to go before. A
// fleet that works with other builds only is an error.
func (k *worker) join(ctx context.Context) ([]jetstream.Consumer, error) {
	for told := false; ; told = true {
		queues, err := k.queues(ctx)
		if ctx.Err() != nil {
			return nil, nil
		}
		if len(queues) > 0 || err != nil && !lost(err) {
			return queues, err
		}
		if !told {
			k.Log.Info("joined; nobody has asked for anything yet")
		}
		k.announce()
		pause(ctx, min(time.Second, k.Timings.Beat))
	}
}

// queues returns those that there are for this worker now.
func (k *worker) queues(ctx context.Context) (queues []jetstream.Consumer, err error) {
	stream, err := k.js.Stream(ctx, workStream)
	if err != nil {
		return nil, k.permitted(err)
	}
	for _, label := range append(slices.Clone(k.Labels), anyLabel) {
		q, err := stream.Consumer(ctx, consumerName(k.Build, label))
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, k.permitted(err)
		}
		if err == nil {
			queues = append(queues, q)
		}
	}
	if len(queues) > 0 {
		return queues, nil
	}
	return nil, k.strangers(ctx, stream)
}

// permitted turns a call that the server did not permit, and which therefore
// looks as if nobody had answered, into an error that says so.
func (k *worker) permitted(err error) error {
	select {
	case denied := <-k.hurt:
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: k.nc.ConnectedUrlRedacted(), What: "this key may not work here", Err: denied, Hint: "use the key of a worker"}
	default:
		return err
	}
}

// strangers is the error of a fleet that has work for other builds only. A queue
// without work says nothing: it stays for days when its run is over.
func (k *worker) strangers(ctx context.Context, stream jetstream.Stream) error {
	var builds []string
	list := stream.ListConsumers(ctx)
	for info := range list.Info() {
		build, _, ok := strings.Cut(info.Name, "_")
		if build == k.Build { // for another label than this worker's
			return nil
		}
		if ok && Word(build) && info.NumPending+uint64(info.NumAckPending) > 0 {
			builds = append(builds, build)
		}
	}
	if err := list.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return k.permitted(err)
	}
	if len(builds) == 0 {
		return nil
	}
	slices.Sort(builds)
	builds = slices.Compact(builds)
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Protocol, Where: k.nc.ConnectedUrlRedacted(),
		What: fmt.Sprintf("the fleet works with build %s, and this worker is build %s", strings.Join(builds, ", "), k.Build),
		Hint: sameness(k.Build, builds...),
	}
}

// sameness says what to do about builds that are not mine. What stands behind the
// last dash of a build is how its processor rounds.
func sameness(mine string, others ...string) string {
	program := func(build string) string { return build[:max(strings.LastIndexByte(build, '-'), 0)] }
	for _, other := range others {
		if program(mine) != "" && program(other) == program(mine) {
			return "both ends are the same merit, but their processors round differently: use processors with the same instructions on all machines, such as AVX2 and FMA"
		}
	}
	return "run the same merit on both ends: results of another may differ"
}

// work fills the slots until the worker drains.
func (k *worker) work(queues []jetstream.Consumer) error {
	hold, release := context.WithCancel(context.WithoutCancel(k.draining)) // of what is under way
	defer release()
	go func() {
		<-k.draining.Done()
		k.change(func(s *Worker) { s.Drains = true })
		select {
		case <-hold.Done():
		case <-time.After(k.Timings.Grace):
			k.Log.Warn("what is under way is handed back", "grace", k.Timings.Grace)
		case <-k.Stop:
		case <-k.gone.Done(): // nobody takes it
		}
		release()
	}()
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		k.beats(hold)
	}()
	var slots sync.WaitGroup
	for range k.Slots {
		slots.Go(func() { k.slot(hold, queues) })
	}
	slots.Wait()
	release()
	<-beats
	k.leave()
	return nil
}
