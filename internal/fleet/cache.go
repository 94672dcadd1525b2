package fleet

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/merit-rl/merit/core/fault"
)

// CacheOptions says where a Cache keeps what.
type CacheOptions struct {
	// Dir is the folder, made if it is not there. Processes may share it. Nobody
	// but this user may write to it.
	Dir string
	// Limit is how many bytes it may hold; 0 is DefaultCacheLimit.
	Limit int64
	// Fetch, which may be nil, gives content that is not there. It is not trusted.
	Fetch func(ctx context.Context, digest Digest) (io.ReadCloser, error)
}

// DefaultCacheLimit is how many bytes a Cache holds unless it is told otherwise.
const DefaultCacheLimit = 8 << 30

// Cache keeps contents in a folder, by digest. What lies there is believed only
// when this process has read it: on its first use, and again whenever the file
// has another size or time than then. Content is there as a whole or not at all.
// What was not used for the longest time makes room for what is new; what a
// Lease holds, of this process or another one, stays. It is safe for concurrent
// use.
type Cache struct {
	dir   string
	limit int64
	fetch func(context.Context, Digest) (io.ReadCloser, error)

	mutex sync.Mutex // of what follows
	turns map[Digest]*turn
	known map[Digest]os.FileInfo // of files that had the digest they are named by
}

// turn lets one caller at a time look for, read or fetch a content.
type turn struct {
	token   chan struct{}
	waiting int
}

// OpenCache opens the cache in a folder. The error says why it cannot be used.
func OpenCache(o CacheOptions) (*Cache, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, storage(o.Dir, err)
	}
	if info, err := os.Stat(o.Dir); err != nil {
		return nil, storage(o.Dir, err)
	} else if !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: o.Dir, What: "others may write to this folder of contents", Hint: "take the right to write from group and others: chmod go-w"}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, storage(o.Dir, err)
	}
	if o.Limit <= 0 {
		o.Limit = DefaultCacheLimit
	}
	return &Cache{dir: dir, limit: o.Limit, fetch: o.Fetch, turns: map[Digest]*turn{}, known: map[Digest]os.FileInfo{}}, nil
}

// Put keeps content of size bytes. It reads nothing if the content is there. The
// error is of the kind Corrupt if content is not what digest and size say.
func (c *Cache) Put(ctx context.Context, digest Digest, size int64, content io.Reader) error {
	if err := checkContent(digest, size); err != nil {
		return err
	}
	done, err := c.turn(ctx, digest)
	if err != nil {
		return err
	}
	defer done()
	f, err := c.open(ctx, digest)
	if f != nil {
		return f.Close()
	}
	if err == nil {
		err = c.write(ctx, digest, size, content)
	}
	return err
}

// Lease returns an empty lease. A nil c has no content.
func (c *Cache) Lease() *Lease { return &Lease{cache: c} }

// file returns the open file of a content, pinned while it is open.
func (c *Cache) file(ctx context.Context, digest Digest) (*os.File, error) {
	if c == nil || !digest.Valid() {
		return nil, missing(digest)
	}
	done, err := c.turn(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer done()
	for range 8 { // another process may take it away as soon as it is there
		f, err := c.open(ctx, digest)
		if f != nil || err != nil {
			return f, err
		}
		if c.fetch == nil {
			return nil, missing(digest)
		}
		if err := c.download(ctx, digest); err != nil {
			return nil, err
		}
	}
	return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: string(digest), What: "others take it away as soon as it is fetched", Hint: "give the folder of contents more room, or each worker its own", Retry: true}
}

func (c *Cache) download(ctx context.Context, digest Digest) error {
	content, err := c.fetch(ctx, digest)
	if err != nil {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: string(digest), What: "the content cannot be fetched", Hint: "see the cause; the shard is tried again", Err: err, Retry: true}
	}
	defer content.Close()
	return c.write(ctx, digest, -1, content)
}

// turn waits until nobody else of this process is busy with the content.
func (c *Cache) turn(ctx context.Context, digest Digest) (done func(), err error) {
	c.mutex.Lock()
	t := c.turns[digest]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1)}
		c.turns[digest] = t
	}
	t.waiting++
	c.mutex.Unlock()
	leave := func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(c.turns, digest)
		}
	}
	select {
	case t.token <- struct{}{}:
		return func() { <-t.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// checkContent returns why nothing can be kept as digest.
func checkContent(digest Digest, size int64) error {
	switch {
	case !digest.Valid():
		return refused(fmt.Sprintf("%.80q", digest), "it is no digest", "use sha256: and 64 hexadecimal digits")
	case size < 0 || size > MaxBlob:
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: string(digest), What: fmt.Sprintf("a content of %d bytes; from 0 to %d are allowed", size, MaxBlob), Hint: "large weights go by the address of a server that has them"}
	}
	return nil
}

func missing(digest Digest) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: fmt.Sprintf("%.80s", digest), What: "the content is not here, and there is nowhere to fetch it from", Hint: "put it before the shards that need it"}
}

func storage(path string, err error) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: path, What: "the folder of contents cannot be used", Hint: "see the cause", Err: err}
}
