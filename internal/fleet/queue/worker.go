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
	"github.com/merit-rl/merit/internal/base/cputime"
)

// WorkOptions configure a worker.
type WorkOptions struct {
	Name     string   // unique among workers: letters, digits, dashes and underscores
	Host     string   // informational
	Slots    int      // shards computed at the same time
	Labels   []string // the worker takes shards that require one of these labels before those that require none
	Child    bool     // a process of the coordinator, which measures its CPU time itself
	Handlers map[Kind]Handler
	// OnState, if not nil, is called with the worker's state whenever it changes, by one
	// goroutine at a time.
	OnState func(Worker)
	// Stop, if not nil and closed, stops the running shards. It is closed on the second Ctrl-C.
	Stop <-chan struct{}
}

// Work computes shards until ctx is canceled or an admin drains the worker. Then it accepts no
// more shards, finishes those in progress, or returns them to the queue when the grace period
// is over, and returns nil. While the server is unreachable, it waits for it. It returns an
// error if the worker cannot work for this server at all.
func Work(ctx context.Context, o Options, w WorkOptions) (err error) {
	if !named(w.Name) || w.Slots < 1 || slices.ContainsFunc(w.Labels, func(l string) bool { return !Word(l) }) {
		return refused(w.Name, "the name, the number of slots or a label of this worker is invalid", "use letters, digits and dashes, and at least one slot")
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
	k.change(func(*Worker) {}) // reports the initial state
	go k.attend(c.nc.StatusChanged(nats.RECONNECTING, nats.CONNECTED, nats.CLOSED))
	k.draining, k.drain = context.WithCancel(ctx)
	defer k.drain()
	defer context.AfterFunc(c.gone, k.drain)()
	defer func() {
		if c.gone.Err() != nil {
			err = context.Cause(c.gone)
		}
	}()
	if err := k.listenForCommands(); err != nil {
		return c.explain(err, "this worker cannot receive commands")
	}
	k.announce()
	queues, err := k.join(k.draining)
	if err != nil || queues == nil {
		return err
	}
	return k.work(queues)
}

// worker is one running Work.
type worker struct {
	*conn
	WorkOptions
	draining context.Context // canceled when no more shards are taken
	drain    context.CancelFunc

	cpu   cputime.Shares
	alone sync.RWMutex // write-locked by a shard that is computed alone

	mutex sync.Mutex // guards the fields below
	state Worker
	asked map[*job]struct{} // jobs of running shards
}

// job is the job of one running shard.
type job struct {
	name   string
	cancel context.CancelFunc
}

// attend tracks the state of the connection until it is closed.
func (k *worker) attend(changes <-chan nats.Status) {
	for now := range changes {
		if now == nats.CLOSED {
			return
		}
		k.change(func(s *Worker) { s.Away = now != nats.CONNECTED })
	}
}

// wanted returns a context for a shard of a job. It is canceled with ctx, and when the
// coordinator no longer wants the job.
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

// unwanted cancels the running shards of a job.
func (k *worker) unwanted(name string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for j := range k.asked {
		if j.name == name {
			j.cancel()
		}
	}
}

// join waits until a coordinator has created the queue, and returns the queues that this worker
// serves, those with labels first. It returns nil if ctx is canceled first, and an error if the
// fleet has work only for other builds.
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
			k.Log.Info("joined; waiting for the first run")
		}
		k.announce()
		pause(ctx, min(time.Second, k.Timings.Beat))
	}
}

// queues returns the queues that exist now for this worker.
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

// permitted returns an error if the server did not permit a call. Without it, the refusal would
// look like a timeout.
func (k *worker) permitted(err error) error {
	select {
	case denied := <-k.hurt:
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: k.nc.ConnectedUrlRedacted(), What: "this key does not have the role of a worker", Err: denied, Hint: "use the key of a worker"}
	default:
		return err
	}
}

// strangers returns an error if the fleet has work only for other builds. Queues without work
// do not count, because they remain for days after their run.
func (k *worker) strangers(ctx context.Context, stream jetstream.Stream) error {
	var builds []string
	list := stream.ListConsumers(ctx)
	for info := range list.Info() {
		build, _, ok := strings.Cut(info.Name, "_")
		if build == k.Build { // it has a queue for another label
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
		What: fmt.Sprintf("the fleet runs build %s, but this worker is build %s", strings.Join(builds, ", "), k.Build),
		Hint: sameness(k.Build, builds...),
	}
}

// sameness returns a hint about builds that differ from mine. The part after the last dash of a
// build tells how its CPU rounds.
func sameness(mine string, others ...string) string {
	program := func(build string) string { return build[:max(strings.LastIndexByte(build, '-'), 0)] }
	for _, other := range others {
		if program(mine) != "" && program(other) == program(mine) {
			return "use CPUs with the same instructions on all machines, such as AVX2 and FMA: both machines run the same merit, but their CPUs round differently"
		}
	}
	return "run the same build of merit on both machines: results of another build may differ"
}

// work runs the slots until the worker drains.
func (k *worker) work(queues []jetstream.Consumer) error {
	hold, release := context.WithCancel(context.WithoutCancel(k.draining)) // canceled when running shards must stop
	defer release()
	go func() {
		<-k.draining.Done()
		k.change(func(s *Worker) { s.Drains = true })
		select {
		case <-hold.Done():
		case <-time.After(k.Timings.Grace):
			k.Log.Warn("returning unfinished shards to the queue", "grace", k.Timings.Grace)
		case <-k.Stop:
		case <-k.gone.Done(): // the server refuses results
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
