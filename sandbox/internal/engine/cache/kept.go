package cache

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/internal/base/build"
)

// contentFile is the only file of an entry that keep makes.
const contentFile = "content"

// Keep caches content, whose pieces follow each other, under a name, for Recall by the same
// build of the program. An error only means that it will not be cached.
func (c *Cache) Keep(name string, pieces ...[]byte) error {
	key, ok := keptKey(name)
	if !ok {
		return nil
	}
	dir, err := c.Scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writePieces(filepath.Join(dir, contentFile), pieces); err != nil {
		return err
	}
	return c.Put(key, dir)
}

func writePieces(path string, pieces [][]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	for _, p := range pieces {
		_, _ = w.Write(p) // Flush returns the error
	}
	return errors.Join(w.Flush(), f.Close())
}

// Recall calls use with the content that was cached under a name, if there is any. The
// content is valid until use returns.
func (c *Cache) Recall(name string, use func(content []byte)) {
	key, ok := keptKey(name)
	if !ok {
		return
	}
	dir, ok := c.Find(key)
	if !ok {
		return
	}
	content, release, err := View(filepath.Join(dir, contentFile))
	if err != nil {
		return
	}
	defer release()
	use(content)
}

func keptKey(name string) (key string, ok bool) {
	if build.ID() == "" {
		return "", false
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "kept %s %s", build.ID(), name))), true
}
