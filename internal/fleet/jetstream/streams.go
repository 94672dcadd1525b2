package jetstream

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
)

// Bounds of what the server keeps for a fleet.
const (
	maxQueued     = 100_000 // shards
	maxQueueBytes = 1 << 30
	maxKeptBytes  = 4 << 30 // of results, and of contents
	keepResults   = 24 * time.Hour
)

// streams are those of a fleet. Only coordinators make them: if many ends did at
// once, their reservations of storage would collide.
//
// A server sets aside what they may have at most, of its disk or of the team's
// quota: they have the part-th part of it where that is too little.
//
// In a cluster each of them has as many copies, those in memory and those that
// nobody would miss, too: a stream of one copy is away while its server is, nobody
// can make it anew meanwhile, and a coordinator that starts waits for all of them.
func streams(part int64) []jetstream.StreamConfig {
	first := jetstream.StreamConfig{ // one message a subject, and later ones are refused
		Storage: jetstream.FileStorage, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}
	work, result, body := first, first, first
	work.Name, work.Subjects, work.Retention, work.MaxMsgs, work.MaxBytes = workStream, []string{"merit.work.>"}, jetstream.WorkQueuePolicy, maxQueued, maxQueueBytes
	result.Name, result.Subjects, result.MaxAge, result.MaxBytes = resultStream, []string{"merit.result.>"}, keepResults, maxKeptBytes
	body.Name, body.Subjects, body.MaxAge, body.MaxBytes = bodyStream, []string{"merit.body.>"}, keepResults, maxKeptBytes
	latest := func(name, subject string, age time.Duration, bytes int64) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: []string{subject}, Storage: jetstream.FileStorage, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld, MaxAge: age, MaxBytes: bytes}
	}
	logs := latest(logStream, "merit.log.>", 24*time.Hour, 64<<20)
	logs.MaxMsgsPerSubject = 10_000
	dead := latest(deadStream, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES."+workStream+".>", 72*time.Hour, 16<<20)
	dead.MaxMsgsPerSubject = -1
	workers := latest(workersStream, "merit.worker.>", 30*time.Second, 24<<20) // five copies are less than a team may keep in memory
	workers.Storage = jetstream.MemoryStorage
	all := []jetstream.StreamConfig{work, result, body, latest(causeStream, "merit.cause.>", keepResults, 64<<20), dead, workers, logs}
	for i := range all {
		all[i].MaxBytes /= part
	}
	return all
}

// make makes the streams, the buckets and the consumer of this coordinator, or
// finds them. It waits while there is no room for them.
func (c *conn) make(ctx context.Context) error {
	var before error // that it waits for
	for warned := false; ; warned = true {
		err := c.makeAny(ctx)
		if err != nil && ctx.Err() != nil && before != nil {
			err = before // of more use than that time is up
		}
		before = err
		if err == nil || !full(err) && !lost(err) || len(c.hurt) > 0 { // who may not make them sees a timeout
			return c.explain(err, "the streams of the fleet cannot be made")
		}
		if !warned {
			c.Log.Warn("the server of the fleet has no room or is away; waiting", "cause", err)
		}
		select {
		case <-ctx.Done():
			return c.explain(err, "the streams of the fleet cannot be made")
		case <-time.After(time.Second):
		}
	}
}

// maxParts is how small the streams may be made: 16 MiB of work, 64 of results
// and as much of contents.
const maxParts = 64

// manyReplicas is how many copies there are if nobody says, and the servers allow it.
const manyReplicas = 3

// makeAny makes the streams as large as they may be, with as many copies as there
// are to be.
func (c *conn) makeAny(ctx context.Context) (err error) {
	wanted := []int{c.Replicas}
	if c.Replicas == 0 {
		wanted = []int{manyReplicas, 1}
	}
	for _, replicas := range wanted {
		for part := int64(1); part <= maxParts; part *= 4 {
			if err = c.tryMake(ctx, part, replicas); !noRoom(err) {
				break
			}
		}
		if !noRoom(err) && !alone(err) {
			return err
		}
	}
	return err
}

// replicas is how many copies a stream is to have. What is there is changed, while
// it is used, to what the configuration says; if it says nothing, to more only.
func (c *conn) replicas(ctx context.Context, name string, n int) (int, error) {
	if c.Replicas > 0 {
		return n, nil
	}
	s, err := c.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	return max(n, s.CachedInfo().Config.Replicas), nil
}

func (c *conn) tryMake(ctx context.Context, part int64, replicas int) (err error) {
	for _, s := range streams(part) {
		if s.Replicas, err = c.replicas(ctx, s.Name, replicas); err != nil {
			return err
		}
		if _, err := c.js.CreateOrUpdateStream(ctx, s); err != nil {
			return err
		}
	}
	bucket := jetstream.ObjectStoreConfig{Bucket: contentBucket, MaxBytes: maxKeptBytes / part}
	if bucket.Replicas, err = c.replicas(ctx, "OBJ_"+contentBucket, replicas); err != nil {
		return err
	}
	if _, err := c.js.CreateOrUpdateObjectStore(ctx, bucket); err != nil {
		return err
	}
	label := cmp.Or(c.Label, anyLabel)
	_, err = c.js.CreateOrUpdateConsumer(ctx, workStream, jetstream.ConsumerConfig{
		Durable: consumerName(c.Build, label), FilterSubject: "merit.work." + c.Build + "." + label + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.Timings.AckWait, MaxDeliver: fleet.MaxTries,
		MaxWaiting: 16384, MaxAckPending: 65536, InactiveThreshold: 7 * 24 * time.Hour,
	})
	return err
}

// full reports whether err says that the server has no room, which may pass.
func full(err error) bool {
	var api *jetstream.APIError
	return noRoom(err) || errors.As(err, &api) && api.ErrorCode == codeRefused && !taken(err)
}

// noRoom reports whether err says that there is no room for a stream, or for what
// it may have at most.
func noRoom(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case 10047, 10023, 10028, 10002, codeNoPeers: // insufficient storage, resources, limits of the account
		return true
	}
	return false
}

// Why a stream cannot have copies.
const (
	codeNoPeers = 10005 // too few servers, or too few with room
	codeAlone   = 10074 // the server is in no cluster
)

// alone reports whether err says that the server is in no cluster.
func alone(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeAlone
}

// codeRefused is what a stream answers whose limits keep a message out.
const codeRefused = 10077

// taken reports whether err says that a subject has its one message.
func taken(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeRefused && strings.Contains(api.Description, "per subject")
}

// explain puts what the server said beside a call into its error.
func (c *conn) explain(err error, what string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	select {
	case denied := <-c.hurt:
		return c.denied(denied, what)
	default:
	}
	f := &fault.Error{Boundary: fault.Fleet, Kind: fault.Crashed, Where: c.nc.ConnectedUrlRedacted(), What: what, Err: err, Hint: "look at the server of the fleet and at its log"}
	if alone(err) {
		f.Kind, f.Hint = fault.Refused, "set fleet.replicas to 0 or 1, or use a cluster of as many servers"
	}
	if full(err) {
		f.Kind, f.Hint = fault.Exhausted, "give the servers more room, or the team a larger quota; a cluster needs as many servers as there are to be copies"
	}
	return f
}

// denied is the error of a call that this end may not make.
func (c *conn) denied(err error, what string) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Refused, Where: c.nc.ConnectedUrlRedacted(), What: what, Err: err,
		Hint: "use a key whose role may do this, or have the role changed in the server's users",
	}
}
