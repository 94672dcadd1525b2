//go:build unix

package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// The folder holds a file for each content, named by its digits; files that are
// being written, which their writers lock; and the lock that is held while room
// is made. A reader holds a shared lock on the content's file: what is locked is
// not taken away. The system lets go of a lock when its process ends, however it
// ends.
const (
	lockName   = "lock"
	partSuffix = ".part"
)

func (c *Cache) path(digest Digest) string { return filepath.Join(c.dir, digest.Hex()) }

// open returns the file of a content with a shared lock, or nil if it is not
// there. What is there and wrong is removed.
func (c *Cache) open(ctx context.Context, digest Digest) (*os.File, error) {
	path := c.path(digest)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storage(path, err)
	}
	ok, err := c.holds(ctx, f, digest)
	if ok && err == nil {
		_ = os.Chtimes(path, time.Now(), time.Time{}) // when it was used last: only a hint
		return f, nil
	}
	f.Close() // only read
	return nil, err
}

// holds locks f and reports whether it is still there and has the digest.
func (c *Cache) holds(ctx context.Context, f *os.File, digest Digest) (bool, error) {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		return false, storage(f.Name(), err)
	}
	info, err := f.Stat()
	if err != nil {
		return false, storage(f.Name(), err)
	}
	if there, err := os.Lstat(f.Name()); err != nil || !os.SameFile(info, there) {
		return false, nil // taken away before it was locked
	}
	c.mutex.Lock()
	before := c.known[digest]
	c.mutex.Unlock()
	if before != nil && os.SameFile(info, before) && info.Size() == before.Size() && info.ModTime().Equal(before.ModTime()) {
		return true, nil
	}
	if !info.Mode().IsRegular() {
		return false, storage(f.Name(), errors.New("it is no file"))
	}
	got, _, err := DigestOf(&patient{ctx, f})
	if err != nil {
		return false, storage(f.Name(), err)
	}
	if got != digest {
		return false, c.discard(f, info)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.known[digest] = info
	return true, nil
}

// discard removes a content that is damaged: it comes anew.
func (c *Cache) discard(f *os.File, info os.FileInfo) error {
	return c.locked(func() error {
		if there, err := os.Lstat(f.Name()); err != nil || !os.SameFile(info, there) {
			return nil // somebody else was faster
		}
		if err := os.Remove(f.Name()); err != nil {
			return storage(f.Name(), err)
		}
		return nil
	})
}

// locked calls do while nobody else gives or takes a content its name, or makes
// room.
func (c *Cache) locked(do func() error) error {
	path := filepath.Join(c.dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return storage(path, err)
	}
	defer f.Close() // releases the lock
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return storage(path, err)
	}
	return do()
}

// reserve makes room until f may have size bytes, and gives it them, so that
// other processes count them.
func (c *Cache) reserve(f *os.File, size int64, digest Digest) error {
	files, total, err := c.list(filepath.Base(f.Name()))
	if err != nil {
		return err
	}
	for _, old := range files {
		if total+size <= c.limit {
			break
		}
		if c.remove(old) {
			total -= old.info.Size()
		}
	}
	if total+size > c.limit {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: string(digest), What: fmt.Sprintf("no room for %d bytes: the folder of contents may hold %d, and %d are in use", size, c.limit, total), Hint: "let the folder hold more", Retry: true}
	}
	if err := f.Truncate(size); err != nil {
		return unwritten(digest, err)
	}
	return nil
}

// stored is a file of the folder.
type stored struct {
	name string
	info os.FileInfo
	used time.Time
}

// list returns the files but the one named but, what was not used for longest
// first, and their bytes. It removes what a dead writer has left.
func (c *Cache) list(but string) (files []stored, total int64, err error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, 0, storage(c.dir, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		part := strings.HasSuffix(e.Name(), partSuffix)
		if err != nil || e.Name() == but || !info.Mode().IsRegular() || !part && !Digest(digestPrefix+e.Name()).Valid() {
			continue // gone, or nothing of ours
		}
		s := stored{name: e.Name(), info: info, used: used(filepath.Join(c.dir, e.Name()), info)}
		if part {
			if !c.remove(s) {
				total += info.Size()
			}
			continue
		}
		files, total = append(files, s), total+info.Size()
	}
	slices.SortFunc(files, func(a, b stored) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name)) })
	return files, total, nil
}

// remove takes a file away that nobody has locked, and says whether it did.
func (c *Cache) remove(s stored) bool {
	path := filepath.Join(c.dir, s.name)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close() // only read
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || os.Remove(path) != nil {
		return false
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.known, Digest(digestPrefix+s.name))
	return true
}

// used is when a file was used last.
func used(path string, info os.FileInfo) time.Time {
	var stat unix.Stat_t
	if unix.Lstat(path, &stat) != nil {
		return info.ModTime()
	}
	return time.Unix(stat.Atim.Unix())
}
