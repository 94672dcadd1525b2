package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/scratch"
	"github.com/merit-rl/merit/internal/fleet"
)

// Fleet is workers behind a server, as a coordinator has them.
type Fleet struct {
	*conn
	ctx  context.Context // of the fleet: over once it is closed
	stop context.CancelCauseFunc
	crew crew
	// spool has a copy of what was put: the server may lose all that it has.
	spool *fleet.Cache
	dir   *scratch.Dir // of the spool

	mutex    sync.Mutex // of what follows
	closed   bool
	under    int                   // Submits and Puts that are under way
	excluded map[string]bool       // workers, by key or name
	there    map[fleet.Digest]bool // contents that the server has, as far as is known
	counts   Counts
	jobs     map[string]*submission // under way

	mourn    sync.Once // begins to listen to what the server gives up
	mourning ear
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

// errClosed is why a fleet that was left computes nothing.
var errClosed = &fault.Error{Boundary: fault.Fleet, Kind: fault.Interrupted, What: "the fleet was closed", Hint: "open it again"}

// Dial comes to a server as a coordinator: it makes what a fleet needs there, or
// finds it. The context bounds the start only.
func Dial(ctx context.Context, o Options) (*Fleet, error) {
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
	f := &Fleet{conn: c, excluded: map[string]bool{}, there: map[fleet.Digest]bool{}, jobs: map[string]*submission{}}
	f.ctx, f.stop = context.WithCancelCause(context.Background())
	context.AfterFunc(c.gone, func() { f.stop(context.Cause(c.gone)) })
	if f.dir, err = scratch.New("contents"); err != nil {
		c.nc.Close()
		return nil, err
	}
	if f.spool, err = fleet.OpenCache(fleet.CacheOptions{Dir: f.dir.Path, Limit: maxKeptBytes, Fetch: c.Content}); err == nil {
		f.crew.barred, f.crew.dismiss = f.barred, f.dismiss
		if err = f.crew.follow(ctx, c); err != nil {
			err = c.explain(err, "the workers cannot be followed")
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Cache is where this process has what was put, and what it fetches.
func (f *Fleet) Cache() *fleet.Cache { return f.spool }

// begin counts something that is under way, unless the fleet is closed.
func (f *Fleet) begin() (end func(), err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if f.ctx.Err() != nil { // the server lets it in no more
		return nil, context.Cause(f.ctx)
	}
	f.under++
	return func() { f.end(1) }, nil
}

// end ends n things that were under way; the last one after Close ends the
// connection.
func (f *Fleet) end(n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.under -= n; f.closed && f.under == 0 {
		f.nc.Close()
		_ = f.dir.Close() // or the next process removes it
	}
}

// Close implements fleet.Fleet. What is under way ends soon after it, and may be
// who calls it.
func (f *Fleet) Close() error {
	f.mutex.Lock()
	f.closed = true
	f.mutex.Unlock()
	f.stop(errClosed)
	f.end(0)
	return nil
}

// Counts returns what was seen so far.
func (f *Fleet) Counts() Counts {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.counts
}

func (f *Fleet) count(change func(*Counts)) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change(&f.counts)
}

// Exclude takes no more results of a worker, which is named by its public key or,
// where there are none, by its name, and tells it to go.
func (f *Fleet) Exclude(worker string, why error) {
	f.mutex.Lock()
	known := f.excluded[worker]
	f.excluded[worker] = true
	f.mutex.Unlock()
	if known {
		return
	}
	f.Log.Error("a worker is excluded", "worker", worker, "cause", why)
	for _, w := range f.crew.exclude(worker) {
		f.dismiss(w)
	}
}

// dismiss tells a worker to go. It may be away, and is not needed for this.
func (f *Fleet) dismiss(w fleet.Worker) {
	_ = f.nc.Publish(ofWorker("control", w.Key, w.Name), []byte("drain"))
}

// barred reports whether a worker is excluded: by its key, or by its name where there
// are no keys. Where there are, a name is a claim.
func (f *Fleet) barred(name, key string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.excluded[name] && f.key == nil || key != "" && f.excluded[key]
}

// Forsake says that workers have ended for good, and that others are not to be
// expected: a Submit, under way or to come, ends with why as soon as nobody is
// there. Others may join all the same; then the fleet's patience counts again.
func (f *Fleet) Forsake(workers []string, why error) { f.crew.forsake(workers, why) }

// Put implements fleet.Fleet.
func (f *Fleet) Put(ctx context.Context, digest fleet.Digest, size int64, content io.Reader) error {
	end, err := f.begin()
	if err != nil {
		return err
	}
	defer end()
	if err := fleet.CheckContent(digest, size); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(f.ctx, cancel)()
	f.mutex.Lock()
	there := f.there[digest]
	f.mutex.Unlock()
	if there {
		return nil
	}
	if err := f.spool.Put(ctx, digest, size, content); err != nil {
		return err
	}
	return f.upload(ctx, digest)
}

// upload sends what the spool has to the server, unless it is there. It waits
// while the server is away or has no room.
func (f *Fleet) upload(ctx context.Context, digest fleet.Digest) error {
	for warned := false; ; warned = true {
		err := f.tryUpload(ctx, digest)
		if err == nil || ctx.Err() != nil || !full(err) && !lost(err) {
			return err
		}
		if !warned {
			f.Log.Warn("the server of the fleet is away or has no room for contents; waiting", "cause", err)
		}
		if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			if err := f.make(ctx); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// tryUpload is upload, once.
func (f *Fleet) tryUpload(ctx context.Context, digest fleet.Digest) error {
	lease := f.spool.Lease()
	defer lease.Release()
	path, err := lease.Path(ctx, digest)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return err
	}
	store, err := f.js.ObjectStore(ctx, contentBucket)
	if err != nil {
		return f.explain(err, "the contents of the fleet cannot be reached")
	}
	whole, err := f.whole(ctx, store, digest, about.Size())
	if err != nil {
		return f.explain(err, "the contents of the fleet cannot be read")
	}
	if !whole {
		if _, err := store.Put(ctx, jetstream.ObjectMeta{Name: digest.Hex()}, file); err != nil {
			return f.explain(err, fmt.Sprintf("%s of %d bytes cannot be put", digest, about.Size()))
		}
		f.count(func(c *Counts) { c.Bytes += uint64(about.Size()) })
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.there[digest] = true
	return nil
}
