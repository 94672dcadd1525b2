package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recalled returns what a cache has under a name; nil if it has nothing.
func recalled(c *Cache, name string) (content []byte) {
	c.Recall(name, func(data []byte) { content = bytes.Clone(data) })
	return content
}

// Promise: content comes back as it was, whatever its size, and not at all after a change
// of any byte or of its size.
func TestContentIsSealed(t *testing.T) {
	for _, size := range []int{1, 256<<10 - 1, 256 << 10, 1 << 20, 3<<20 + 5} {
		c := newTestCache(t, 1<<30)
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i>>10 + i)
		}
		key, ok := keptKey("content")
		require.True(t, ok)
		file := filepath.Join(c.dir, key, contentFile)
		for name, harm := range map[string]func() error{
			"first byte": func() error { return flip(file, 0) },
			"a byte":     func() error { return flip(file, size/2) },
			"last byte":  func() error { return flip(file, size-1) },
			"shorter":    func() error { return os.Truncate(file, int64(size-1)) },
			"longer":     func() error { return os.Truncate(file, int64(size+1)) },
		} {
			require.NoError(t, c.Keep("content", content))
			require.True(t, bytes.Equal(content, recalled(c, "content")))
			require.NoError(t, harm(), name)
			require.Nil(t, recalled(c, "content"), "%d bytes, %s", size, name)
		}
	}
}

func flip(path string, at int) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[at] ^= 1
	return os.WriteFile(path, data, 0o600)
}

// Promise: processes that write one entry at the same time, and read it meanwhile, find all
// of it or nothing, and it is there in the end.
func TestManyWriters(t *testing.T) {
	dir, content := filepath.Join(t.TempDir(), "cache"), bytes.Repeat([]byte("state"), 200_000)
	var group sync.WaitGroup
	for range 4 {
		c, err := Open(dir, 1<<30)
		require.NoError(t, err)
		group.Go(func() {
			for range 10 {
				_ = c.Keep("content", content) // of two that rename at once, one may fail
				if got := recalled(c, "content"); got != nil && !bytes.Equal(got, content) {
					t.Error("a part of the entry was found")
				}
			}
		})
	}
	group.Wait()
	c, err := Open(dir, 1<<30)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, recalled(c, "content")))
}
