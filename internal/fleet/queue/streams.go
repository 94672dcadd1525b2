package queue

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits of what the server stores for a fleet.
const (
	maxQueued     = 100_000 // shards
	maxQueueBytes = 1 << 30
	maxKeptBytes  = 4 << 30 // of results, and also of contents
	keepResults   = 24 * time.Hour
)

// streams returns the configuration of a fleet's streams. Only coordinators create them: if
// many processes did so at once, their storage reservations would collide.
//
// A server reserves the maximum size of each stream on its disk or from the team's quota. If
// that does not fit, part divides the sizes.
//
// In a cluster, all streams have the same number of copies, including those in memory and those
// with unimportant data. A stream with one copy is unavailable while its server is, cannot be
// recreated meanwhile, and a starting coordinator waits for all streams.
func streams(part int64) []jetstream.StreamConfig {
	first := jetstream.StreamConfig{ // one message per subject; later ones are refused
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
	workers := latest(workersStream, "merit.worker.>", 30*time.Second, 24<<20) // five copies fit into teamMemory
	workers.Storage = jetstream.MemoryStorage
	all := []jetstream.StreamConfig{work, result, body, dead, workers, logs}
	for i := range all {
		all[i].MaxBytes /= part
	}
	return all
}

// make creates the streams, the bucket and this coordinator's consumer, or finds them. It waits
// while the server has no space for them.
func (c *conn) make(ctx context.Context) error {
	return c.until(ctx, "the fleet's streams cannot be created", nil, func() error { return c.makeAny(ctx) })
}

// maxParts is the largest divisor of the streams' sizes. It leaves 16 MiB for work, 64 MiB for
// results and 64 MiB for contents.
const maxParts = 64

// manyReplicas is the default number of copies if the servers allow it.
const manyReplicas = 3

// makeAny creates the streams as large as the server allows, with the configured number of
// copies.
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

// replicas returns the number of copies for a stream. If the configuration sets a number, it
// applies to existing streams, too. Otherwise the number of an existing stream may only grow.
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
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.Timings.AckWait, MaxDeliver: -1, // workers give up a shard, see MaxTries
		MaxWaiting: 16384, MaxAckPending: 65536, InactiveThreshold: 7 * 24 * time.Hour,
	})
	return err
}
