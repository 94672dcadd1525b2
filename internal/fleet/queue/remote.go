package queue

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
)

// Remote is a Fleet of workers behind a server, as a coordinator uses it.
type Remote struct {
	*conn
	ctx    context.Context // canceled by Close
	stop   context.CancelCauseFunc
	roster roster

	mutex    sync.Mutex // guards the fields below
	closed   bool
	under    int             // running Submits
	excluded map[string]bool // excluded workers, by key or name
	there    map[Digest]bool // contents that the server is known to have
	counts   Counts
}

// Counts is what a coordinator has counted of its fleet.
type Counts struct {
	Shards      uint64 // shards with a result
	Redelivered uint64 // of those, delivered more than once
	Resubmitted uint64 // sent again because the queue had lost them
	Refused     uint64 // results that were malformed or came from excluded workers
	Twice       uint64 // second results that equaled the first
	Differing   uint64 // second results that differed from the first
	Dead        uint64 // shards that were given up
	Bytes       uint64 // bytes of bodies, in both directions
}

// Dial connects to a server as a coordinator and creates the streams if they do not exist. The
// context only limits the start.
func Dial(ctx context.Context, o Options) (*Remote, error) {
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	c, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.make(ctx); err != nil {
		c.nc.Close()
		return nil, err
	}
	r := &Remote{conn: c, excluded: map[string]bool{}, there: map[Digest]bool{}}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	context.AfterFunc(c.gone, func() { r.stop(context.Cause(c.gone)) })
	r.roster.barred, r.roster.dismiss = r.barred, r.dismiss
	if err := r.roster.follow(c); err != nil {
		return nil, errors.Join(c.explain(err, "the workers' reports cannot be received"), r.Close())
	}
	return r, nil
}

// begin registers a running Submit. It returns an error if the fleet is closed.
func (r *Remote) begin() (end func(), err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if r.ctx.Err() != nil { // the server refuses this process for good
		return nil, context.Cause(r.ctx)
	}
	r.under++
	return func() { r.end(1) }, nil
}

// end unregisters n running Submits. After Close, the last one closes the connection.
func (r *Remote) end(n int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.under -= n; r.closed && r.under == 0 {
		r.nc.Close()
	}
}

// Close implements Fleet. Running Submits stop soon afterwards. Close does not wait for them,
// because one of them may be the caller.
func (r *Remote) Close() error {
	r.mutex.Lock()
	r.closed = true
	r.mutex.Unlock()
	r.stop(errClosed)
	r.end(0)
	return nil
}

// Counts returns the counts so far.
func (r *Remote) Counts() Counts {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.counts
}

func (r *Remote) count(change func(*Counts)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change(&r.counts)
}

// Exclude refuses further results of a worker and tells it to drain. The worker is named by its
// public key, or by its name if there are no keys.
func (r *Remote) Exclude(worker string, why error) {
	r.mutex.Lock()
	known := r.excluded[worker]
	r.excluded[worker] = true
	r.mutex.Unlock()
	if known {
		return
	}
	r.Log.Error("a worker is excluded", "worker", worker, "cause", why)
	for _, w := range r.roster.exclude(worker) {
		r.dismiss(w)
	}
}

// dismiss tells a worker to drain. It ignores errors, because results of the worker are refused
// in any case.
func (r *Remote) dismiss(w Worker) {
	_ = r.nc.Publish(ofWorker("control", w.Key, w.Name), []byte("drain"))
}

// barred reports whether a worker is excluded: by its key, or, if there are no keys, by its
// name. With keys, a name is only a claim.
func (r *Remote) barred(name, key string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.excluded[name] && r.key == nil || key != "" && r.excluded[key]
}

// Abandon records that workers have stopped for good and that no others are expected. A running
// or later Submit then returns why as soon as no worker is connected. If others join after all,
// the usual patience applies again.
func (r *Remote) Abandon(workers []string, why error) { r.roster.abandon(workers, why) }

// supply uploads the contents that a shard needs, unless the server has them.
func (r *Remote) supply(ctx context.Context, s Shard) error {
	for _, c := range s.Needs {
		r.mutex.Lock()
		there := r.there[c.Digest]
		r.mutex.Unlock()
		if there {
			continue
		}
		if err := r.until(ctx, fmt.Sprintf("%s cannot be uploaded", c.Digest), r.restore, func() error { return r.upload(ctx, c) }); err != nil {
			return err
		}
		r.mutex.Lock()
		r.there[c.Digest] = true
		r.mutex.Unlock()
	}
	return nil
}

// upload uploads one content, once.
func (r *Remote) upload(ctx context.Context, c Content) error {
	store, err := r.js.ObjectStore(ctx, contentBucket)
	if err != nil {
		return err
	}
	if whole, err := r.whole(ctx, store, c.Digest); whole || err != nil {
		return err
	}
	from, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	about, err := store.Put(ctx, jetstream.ObjectMeta{Name: c.Digest.Hex()}, io.LimitReader(from, MaxBlob+1))
	switch {
	case err != nil:
		return err
	case about.Size > MaxBlob || !sameDigest(about, c.Digest):
		return errors.Join(&fault.Error{
			Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(c.Digest), What: fmt.Sprintf("the content does not match its digest, or is too large: it has %d bytes, and %d are allowed", about.Size, MaxBlob),
			Hint: "try again if the file changed while it was read; keep large weights in a server that workers reach by address",
		}, store.Delete(ctx, c.Digest.Hex()))
	}
	r.count(func(c *Counts) { c.Bytes += about.Size })
	return nil
}

// sameDigest reports whether the store lists an object with a digest. Reading the object
// verifies it.
func sameDigest(about *jetstream.ObjectInfo, d Digest) bool {
	sum, err := hex.DecodeString(d.Hex())
	return err == nil && about.Digest == "SHA-256="+base64.URLEncoding.EncodeToString(sum)
}

// whole reports whether the server has all of a content. It may list the content but lack
// parts: a client that loses the connection during an upload deletes the parts, although the
// server may already have recorded the end of the upload.
func (r *Remote) whole(ctx context.Context, store jetstream.ObjectStore, d Digest) (bool, error) {
	about, err := store.GetInfo(ctx, d.Hex())
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && !sameDigest(about, d) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	parts := fmt.Sprintf("$O.%s.C.%s", contentBucket, about.NUID)
	has, _, err := r.subjects(ctx, "OBJ_"+contentBucket, parts)
	return has[parts] == uint64(about.Chunks), err
}

// subjects returns the number of messages per subject that matches a filter, and when the
// stream was created.
func (c *conn) subjects(ctx context.Context, stream, filter string) (map[string]uint64, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // a cluster without a leader does not answer
	defer cancel()
	s, err := c.stream(ctx, stream)
	if err != nil {
		return nil, time.Time{}, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, time.Time{}, err
	}
	return info.State.Subjects, info.Created, nil
}

// restore recreates the streams if the server has lost them. If nothing answers for a stream,
// it may be lost or be electing a leader.
func (r *Remote) restore(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := r.js.ObjectStore(soon, contentBucket); !errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = r.js.Stream(soon, workStream)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
	}
	r.Log.Warn("the server has lost the fleet's streams; recreating them and sending missing shards again")
	r.mutex.Lock()
	clear(r.there)
	r.mutex.Unlock()
	return r.make(ctx)
}

// content returns a content that is fetched from the server.
func (c *conn) content(d Digest) Content {
	return Content{d, func(ctx context.Context) (io.ReadCloser, error) {
		store, err := c.js.ObjectStore(ctx, contentBucket)
		if err != nil {
			return nil, c.explain(err, "the fleet's contents cannot be reached")
		}
		object, err := store.Get(ctx, d.Hex())
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: string(d), What: "the fleet's server does not have this content", Hint: "restart the coordinator, which uploads the content again"}
		}
		if err != nil {
			return nil, c.explain(err, "a content of the fleet cannot be read")
		}
		if about, err := object.Info(); err != nil || !sameDigest(about, d) {
			return nil, errors.Join(&fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(d), What: "the fleet's server has different content under this name", Hint: "check what else writes to its object store"}, err, object.Close())
		}
		return object, nil
	}}
}
