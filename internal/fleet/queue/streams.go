package queue

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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
	dead := latest(deadStream, "merit.dead.>", 72*time.Hour, 16<<20)
	dead.MaxMsgsPerSubject = -1
	workers := latest(workersStream, "merit.worker.>", 30*time.Second, 24<<20) // five copies are less than a team may keep in memory
	workers.Storage = jetstream.MemoryStorage
	all := []jetstream.StreamConfig{work, result, body, dead, workers, logs}
	for i := range all {
		all[i].MaxBytes /= part
	}
	return all
}

// make makes the streams, the bucket and the consumer of this coordinator, or
// finds them. It waits while there is no room for them.
func (c *conn) make(ctx context.Context) error {
	return c.until(ctx, "the streams of the fleet cannot be made", nil, func() error { return c.makeAny(ctx) })
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
		if !noRoom(err) && !coded(err, codeAlone) {
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
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.Timings.AckWait, MaxDeliver: -1, // a worker that is handed a shard too often says so
		MaxWaiting: 16384, MaxAckPending: 65536, InactiveThreshold: 7 * 24 * time.Hour,
	})
	return err
}
