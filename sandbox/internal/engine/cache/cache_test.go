package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// entryName is a name as programKey makes it.
func entryName(c string) string { return strings.Repeat(c, 64) }

func newTestCache(t *testing.T, limit int64) *Cache {
	c, err := Open(filepath.Join(t.TempDir(), "cache"), limit)
	require.NoError(t, err)
	return c
}

// use asks for an entry, and makes it if it is not there.
func use(t *testing.T, c *Cache, name, content string) (hit bool) {
	if dir, ok := c.Find(name); ok {
		got, err := os.ReadFile(filepath.Join(dir, "wazero-x", "code"))
		require.NoError(t, err)
		require.Equal(t, content, string(got))
		return true
	}
	scratch, err := c.Scratch()
	require.NoError(t, err)
	sub := filepath.Join(scratch, "wazero-x")
	require.NoError(t, os.Mkdir(sub, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(sub, "code"), []byte(content), 0o600))
	require.NoError(t, c.Put(name, filepath.Dir(sub)))
	require.NoError(t, os.RemoveAll(filepath.Dir(sub)))
	return false
}

// Promise: an entry is used if it is as it was sealed, and made anew if one
// byte, its name or its files are not.
func TestCacheTrustsOnlyWhatItSealed(t *testing.T) {
	a := entryName("a")
	for name, harm := range map[string]func(t *testing.T, c *Cache, entry string){
		"byte changed": func(t *testing.T, _ *Cache, entry string) {
			require.NoError(t, os.WriteFile(filepath.Join(entry, "wazero-x", "code"), []byte("evil"), 0o600))
		},
		"file added": func(t *testing.T, _ *Cache, entry string) {
			require.NoError(t, os.WriteFile(filepath.Join(entry, "wazero-x", "more"), nil, 0o600))
		},
		"writable for others": func(t *testing.T, _ *Cache, entry string) {
			require.NoError(t, os.Chmod(filepath.Join(entry, "wazero-x", "code"), 0o666))
		},
		"link": func(t *testing.T, _ *Cache, entry string) {
			code := filepath.Join(entry, "wazero-x", "code")
			require.NoError(t, os.Rename(code, filepath.Join(t.TempDir(), "code")))
			require.NoError(t, os.Symlink("/etc/hostname", code))
		},
		"entry of another module": func(t *testing.T, c *Cache, entry string) {
			require.False(t, use(t, c, entryName("b"), "b"))
			require.NoError(t, os.RemoveAll(entry))
			require.NoError(t, os.Rename(filepath.Join(c.dir, entryName("b")), entry))
		},
		"seal removed": func(t *testing.T, _ *Cache, entry string) {
			require.NoError(t, os.Remove(filepath.Join(entry, sealName)))
		},
		"key replaced": func(t *testing.T, c *Cache, _ string) { c.key = make([]byte, 32) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestCache(t, 1<<30)
			require.False(t, use(t, c, a, "good"))
			require.True(t, use(t, c, a, "good"))
			harm(t, c, filepath.Join(c.dir, a))
			require.False(t, use(t, c, a, "good"))
			require.True(t, use(t, c, a, "good"))
		})
	}
}

// Promise: a folder that others can write to is refused, and the key is kept
// over restarts.
func TestCacheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	one, err := Open(dir, 1)
	require.NoError(t, err)
	two, err := Open(dir, 1)
	require.NoError(t, err)
	require.Equal(t, one.key, two.key)
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err = Open(dir, 1)
	require.ErrorIs(t, err, ErrUntrusted)
	require.ErrorContains(t, err, "others may write")
	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, os.Truncate(filepath.Join(one.dir, keyName), 3))
	_, err = Open(dir, 1)
	require.NoError(t, err)
}

// Promise: the cache stays within its size; what was not used for longest goes
// first, with what a process that died left behind.
func TestCacheIsBounded(t *testing.T) {
	const block = 4 << 10
	c := newTestCache(t, 11*block)
	content := strings.Repeat("x", block+1) // with its folders and the seal, 5 blocks
	old := func(name string, age time.Duration) {
		when := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(filepath.Join(c.dir, name), when, when))
	}
	use(t, c, entryName("a"), content)
	use(t, c, entryName("b"), content)
	old(entryName("a"), time.Hour)
	old(entryName("b"), 2*time.Hour)
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "new-entry-1"), 0o700))
	old("new-entry-1", 2*time.Hour)
	require.False(t, use(t, c, entryName("c"), content))
	require.NoDirExists(t, filepath.Join(c.dir, entryName("b")))
	require.NoDirExists(t, filepath.Join(c.dir, "new-entry-1"))
	require.True(t, use(t, c, entryName("a"), content))
	require.True(t, use(t, c, entryName("c"), content))
}

// Promise: the disk never holds more than the limit, not even while an entry
// takes its place; one that is larger is not kept.
func TestCacheNeverPassesItsLimit(t *testing.T) {
	const block = 4 << 10
	c := newTestCache(t, 11*block)
	use(t, c, entryName("a"), strings.Repeat("x", 7*block))
	require.False(t, use(t, c, entryName("b"), strings.Repeat("x", 9*block)), "with folders and seal it is too large")
	require.NoDirExists(t, filepath.Join(c.dir, entryName("b")))
	require.True(t, use(t, c, entryName("a"), strings.Repeat("x", 7*block)), "and has driven nothing out")
	for i := range 20 {
		use(t, c, entryName(string(rune('c'+i))), strings.Repeat("x", i*400))
		require.LessOrEqual(t, Size(c.dir), c.limit+2*block, "with the folder itself and the key")
	}
}
