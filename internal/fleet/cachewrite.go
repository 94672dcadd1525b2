//go:build unix

package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// write stores content in one step, if it is what digest and size say; a size
// below 0 is unknown.
func (c *Cache) write(ctx context.Context, digest Digest, size int64, content io.Reader) (err error) {
	part, err := c.part(max(size, 0), digest)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name()) // it is not there if it was renamed
		}
		err = errors.Join(err, part.Close())
	}()
	most := int64(MaxBlob)
	if size >= 0 {
		most = size
	}
	from, h, n := &patient{ctx, io.LimitReader(content, most+1)}, sha256.New(), int64(0)
	for buffer, read := make([]byte, min(most+1, 1<<20)), 0; err == nil; n += int64(read) {
		if read, err = io.ReadFull(from, buffer); read == 0 {
			break
		}
		if size < 0 {
			if err := c.locked(func() error { return c.reserve(part, n+int64(read), digest) }); err != nil {
				return err
			}
		}
		h.Write(buffer[:read])
		if _, err := part.Write(buffer[:read]); err != nil {
			return unwritten(digest, err)
		}
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return unwritten(digest, err)
	}
	if got := sum(h); got != digest || n > most || size >= 0 && n != size {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(digest), What: fmt.Sprintf("the content is another one: %s, at least %d bytes", got, n), Hint: "it changed on the way or while it was read: try again"}
	}
	return c.keep(part, digest)
}

// keep gives a written file its name, and remembers that it is what it says. If
// another process was faster, its file stays, which somebody may hold, and is
// read when it is used.
func (c *Cache) keep(part *os.File, digest Digest) error {
	info, err := part.Stat()
	if err != nil {
		return unwritten(digest, err)
	}
	there := false
	err = c.locked(func() error {
		if _, err := os.Lstat(c.path(digest)); err == nil {
			there = true
			return os.Remove(part.Name())
		}
		return os.Rename(part.Name(), c.path(digest))
	})
	if err != nil {
		return unwritten(digest, err)
	}
	if there {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.known[digest] = info
	return nil
}

// part returns a new file that is locked, with room for size bytes.
func (c *Cache) part(size int64, digest Digest) (f *os.File, err error) {
	err = c.locked(func() error {
		if f, err = os.CreateTemp(c.dir, "*"+partSuffix); err != nil {
			return unwritten(digest, err)
		}
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); err == nil {
			err = c.reserve(f, size, digest)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()), f.Close())
		}
		return err
	})
	return f, err
}

// unwritten is why content could not be stored.
func unwritten(digest Digest, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	kind, hint := fault.Crashed, "see the cause; the shard is tried again"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		kind, hint = fault.Exhausted, "make room on the disk of the folder of contents"
	}
	return &fault.Error{Boundary: fault.Fleet, Kind: kind, Where: string(digest), What: "the content could not be stored", Hint: hint, Err: err, Retry: true}
}

// patient reads until ctx is over.
type patient struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.from.Read(b)
}
