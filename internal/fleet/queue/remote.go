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

// Remote is workers behind a server, as a coordinator has them: a Fleet.
type Remote struct {
	*conn
	ctx  context.Context // of the fleet: over once it is closed
	stop context.CancelCauseFunc
	crew crew

	mutex    sync.Mutex // of what follows
	closed   bool
	under    int             // Submits that are under way
	excluded map[string]bool // workers, by key or name
	there    map[Digest]bool // contents that the server has, as far as is known
	counts   Counts
}

// Counts is what a coordinator has seen of its fleet.
type Counts struct {
	Shards      uint64 // that have a result
	Redelivered uint64 // of them, handed out more than once
	Resubmitted uint64 // sent again because the queue had lost them
	Refused     uint64 // results that were not what they must be, or came from excluded workers
	Twice       uint64 // results that came second, and were the same
	Differing   uint64 // results that came second, and were not
	Dead        uint64 // shards that were given up
	Bytes       uint64 // of bodies, both ways
}

// Dial comes to a server as a coordinator: it makes what a fleet needs there, or
// finds it. The context bounds the start only.
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
	r.crew.barred, r.crew.dismiss = r.barred, r.dismiss
	if err := r.crew.follow(c); err != nil {
		return nil, errors.Join(c.explain(err, "the workers cannot be followed"), r.Close())
	}
	return r, nil
}

// begin counts something that is under way, unless the fleet is closed.
func (r *Remote) begin() (end func(), err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if r.ctx.Err() != nil { // the server lets it in no more
		return nil, context.Cause(r.ctx)
	}
	r.under++
	return func() { r.end(1) }, nil
}

// end ends n things that were under way; the last one after Close ends the
// connection.
func (r *Remote) end(n int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.under -= n; r.closed && r.under == 0 {
		r.nc.Close()
	}
}

// Close implements Fleet. What is under way ends soon after it, and may be
// who calls it.
func (r *Remote) Close() error {
	r.mutex.Lock()
	r.closed = true
	r.mutex.Unlock()
	r.stop(errClosed)
	r.end(0)
	return nil
}

// Counts returns what was seen so far.
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

// Exclude takes no more results of a worker, which is named by its public key or,
// where there are none, by its name, and tells it to go.
func (r *Remote) Exclude(worker string, why error) {
	r.mutex.Lock()
	known := r.excluded[worker]
	r.excluded[worker] = true
	r.mutex.Unlock()
	if known {
		return
	}
	r.Log.Error("a worker is excluded", "worker", worker, "cause", why)
	for _, w := range r.crew.exclude(worker) {
		r.dismiss(w)
	}
}

// dismiss tells a worker to go. It may be away, and is not needed for this.
func (r *Remote) dismiss(w Worker) {
	_ = r.nc.Publish(ofWorker("control", w.Key, w.Name), []byte("drain"))
}

// barred reports whether a worker is excluded: by its key, or by its name where there
// are no keys. Where there are, a name is a claim.
func (r *Remote) barred(name, key string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.excluded[name] && r.key == nil || key != "" && r.excluded[key]
}

// Forsake says that workers have ended for good, and that others are not to be
// expected: a Submit, under way or to come, ends with why as soon as nobody is
// there. Others may join all the same; then the fleet's patience counts again.
func (r *Remote) Forsake(workers []string, why error) { r.crew.forsake(workers, why) }

// supply puts what a shard needs into the server's object store, unless it is there.
func (r *Remote) supply(ctx context.Context, s Shard) error {
	for _, c := range s.Needs {
		r.mutex.Lock()
		there := r.there[c.Digest]
		r.mutex.Unlock()
		if there {
			continue
		}
		if err := r.until(ctx, fmt.Sprintf("%s cannot be put", c.Digest), r.restore, func() error { return r.upload(ctx, c) }); err != nil {
			return err
		}
		r.mutex.Lock()
		r.there[c.Digest] = true
		r.mutex.Unlock()
	}
	return nil
}

// upload is supply of one content, once.
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
			Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(c.Digest), What: fmt.Sprintf("the content is another one, of %d bytes; %d are allowed", about.Size, MaxBlob),
			Hint: "it changed while it was read: try again; large weights go by the address of a server that has them",
		}, store.Delete(ctx, c.Digest.Hex()))
	}
	r.count(func(c *Counts) { c.Bytes += about.Size })
	return nil
}

// sameDigest reports whether the store says that an object has a digest; who reads the
// object is told if it has another one.
func sameDigest(about *jetstream.ObjectInfo, d Digest) bool {
	sum, err := hex.DecodeString(d.Hex())
	return err == nil && about.Digest == "SHA-256="+base64.URLEncoding.EncodeToString(sum)
}

// whole reports whether the server has all of a content. It may know it and lack
// parts: who puts one and loses the server meanwhile takes back the parts, and the
// server may have heard the end of it before.
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

// subjects returns how many messages of each subject that fits a filter a stream
// has, and when it was made.
func (c *conn) subjects(ctx context.Context, stream, filter string) (map[string]uint64, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // of a cluster that has no leader nobody answers
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

// restore makes the streams again if the server has lost them. What nobody answers for
// may be lost or between two leaders.
func (r *Remote) restore(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := r.js.ObjectStore(soon, contentBucket); !errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = r.js.Stream(soon, workStream)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
	}
	r.Log.Warn("the server has lost the streams of the fleet; they are made again, and what is missing is sent again")
	r.mutex.Lock()
	clear(r.there)
	r.mutex.Unlock()
	return r.make(ctx)
}

// content is one that the server brings.
func (c *conn) content(d Digest) Content {
	return Content{d, func(ctx context.Context) (io.ReadCloser, error) {
		store, err := c.js.ObjectStore(ctx, contentBucket)
		if err != nil {
			return nil, c.explain(err, "the contents of the fleet cannot be reached")
		}
		object, err := store.Get(ctx, d.Hex())
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: string(d), What: "the server of the fleet does not have this content", Hint: "the coordinator puts it again when it starts again"}
		}
		if err != nil {
			return nil, c.explain(err, "a content of the fleet cannot be read")
		}
		if about, err := object.Info(); err != nil || !sameDigest(about, d) {
			return nil, errors.Join(&fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(d), What: "the server of the fleet has another content by this name", Hint: "look for who else writes to its object store"}, err, object.Close())
		}
		return object, nil
	}}
}
