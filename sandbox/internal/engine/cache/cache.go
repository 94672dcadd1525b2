// Package cache stores on disk what takes long to make. Entries are sealed, so
// that bytes of other users never run.
package cache

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// Cache stores programs and states on disk, each in a folder named after its
// source. The folder and everything in it must belong to this user, and others
// must not be able to write to it. Every entry has a keyed seal over its
// content and its name. An entry that was damaged, exchanged or written by
// another program is compiled anew.
type Cache struct {
	dir   string
	limit int64
	key   []byte
}

const (
	cacheVersion = "v3"
	sealName     = "seal"
	keyName      = "key"
)

// ErrUntrusted means that another user may have written to the folder.
var ErrUntrusted = errors.New("module cache")

// Open creates or checks the folder. The error is ErrUntrusted, or the reason
// why the folder cannot be used.
func Open(dir string, limit int64) (*Cache, error) {
	c := &Cache{dir: filepath.Join(dir, cacheVersion), limit: limit}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, c.dir} {
		if err := private(d); err != nil {
			return nil, err
		}
	}
	key, err := c.loadKey()
	if err != nil {
		return nil, err
	}
	c.key = key
	return c, nil
}

func (c *Cache) loadKey() ([]byte, error) {
	path := filepath.Join(c.dir, keyName)
	for {
		key, err := os.ReadFile(path)
		if err == nil && len(key) == sha256.Size {
			return key, private(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err := c.makeKey(path, err == nil); err != nil {
			return nil, err
		}
	}
}

// makeKey stores a new key in one step; of two processes, the first wins. It
// replaces a key of the wrong size.
func (c *Cache) makeKey(path string, replace bool) error {
	f, err := os.CreateTemp(c.dir, "new-key-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key)
	_, err = f.Write(key)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if replace {
		return os.Rename(f.Name(), path)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Find returns the folder of a valid entry, and marks it as used.
func (c *Cache) Find(name string) (dir string, ok bool) {
	dir = filepath.Join(c.dir, name)
	if !c.sound(dir, name) {
		return "", false
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now)
	return dir, true
}

// Scratch creates a folder for a new entry.
func (c *Cache) Scratch() (string, error) { return os.MkdirTemp(c.dir, "new-entry-") }

// Put seals a scratch folder and moves it to the place of the entry, after it
// has made room. It does not keep an entry that is larger than the cache. An
// error only means that the entry will not be cached.
func (c *Cache) Put(name, scratch string) error {
	entry := filepath.Join(c.dir, name)
	if err := c.seal(scratch, name); err != nil {
		return err
	}
	_ = os.RemoveAll(entry)
	size := Size(scratch)
	if size > c.limit {
		return nil
	}
	c.evict(size)
	err := os.Rename(scratch, entry)
	c.evict(0) // another process may have used the same room
	if errors.Is(err, fs.ErrExist) {
		return nil // another process has just stored it
	}
	return err
}

// evict removes the least recently used entries until the given number of bytes
// is free, and what dead processes left behind.
func (c *Cache) evict(room int64) {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type entry struct {
		path string
		used time.Time
		size int64
	}
	var entries []entry
	var total int64
	for _, d := range list {
		info, err := d.Info()
		if err != nil || !d.IsDir() {
			continue
		}
		e := entry{path: filepath.Join(c.dir, d.Name()), used: info.ModTime()}
		if len(d.Name()) != 2*sha256.Size { // another process is making it
			if time.Since(e.used) > time.Hour {
				_ = os.RemoveAll(e.path)
			}
			continue
		}
		e.size = Size(e.path)
		total += e.size
		entries = append(entries, e)
	}
	sort.Slice(entries, func(a, b int) bool { return entries[a].used.Before(entries[b].used) })
	for _, e := range entries {
		if total+room <= c.limit {
			return
		}
		if os.RemoveAll(e.path) == nil {
			total -= e.size
		}
	}
}

// Size returns how much disk space a folder takes: every file and folder in
// whole blocks, at least one each.
func Size(dir string) (n int64) {
	const block = 4 << 10
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			n += max(info.Size()+block-1, block) / block * block
		}
		return nil
	})
	return n
}
