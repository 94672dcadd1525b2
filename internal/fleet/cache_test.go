package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
)

func open(t *testing.T, o fleet.CacheOptions) *fleet.Cache {
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "contents")
	}
	c, err := fleet.OpenCache(o)
	require.NoError(t, err)
	return c
}

func put(t *testing.T, c *fleet.Cache, content string) fleet.Digest {
	d := fleet.DigestOfBytes([]byte(content))
	require.NoError(t, c.Put(t.Context(), d, int64(len(content)), strings.NewReader(content)))
	return d
}

func read(t *testing.T, l *fleet.Lease, d fleet.Digest) string {
	path, err := l.Path(t.Context(), d)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// from is a server of contents that counts how often it is asked.
func from(asked *atomic.Int64, contents ...string) func(context.Context, fleet.Digest) (io.ReadCloser, error) {
	return func(_ context.Context, d fleet.Digest) (io.ReadCloser, error) {
		asked.Add(1)
		for _, c := range contents {
			if fleet.DigestOfBytes([]byte(c)) == d {
				return io.NopCloser(strings.NewReader(c)), nil
			}
		}
		return nil, errors.New("there is no such thing")
	}
}

// Promise: a digest has one form, and says what a reader holds.
func TestDigest(t *testing.T) {
	d, n, err := fleet.DigestOf(strings.NewReader("abc"))
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.Equal(t, fleet.Digest("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), d)
	require.Equal(t, d, fleet.DigestOfBytes([]byte("abc")))
	require.True(t, d.Valid())
	for _, wrong := range []string{"", "sha256:", d.Hex(), strings.ToUpper(string(d)), string(d) + "0", "sha256:" + strings.Repeat("g", 64), "sha256:../" + d.Hex()[3:]} {
		require.False(t, fleet.Digest(wrong).Valid(), wrong)
	}
}

// Promise: what is put is found, with bytes read once only, and closed to others.
func TestCacheKeepsContent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "contents")
	c := open(t, fleet.CacheOptions{Dir: dir})
	d := put(t, c, "weights")
	require.NoError(t, c.Put(t.Context(), d, 7, nil), "it is there: nothing is read")
	l := c.Lease()
	defer l.Release()
	require.Equal(t, "weights", read(t, l, d))
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, d.Hex()): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	empty := put(t, c, "")
	require.Empty(t, read(t, l, empty))
}

// Promise: content that is not what its digest and size say is refused, and
// nothing of it stays.
func TestCacheRefusesOtherContent(t *testing.T) {
	dir := t.TempDir()
	c := open(t, fleet.CacheOptions{Dir: dir})
	d := fleet.DigestOfBytes([]byte("weights"))
	for what, content := range map[string]string{"other bytes": "weighty", "too few": "weight", "too many": "weights!", "none": ""} {
		err := c.Put(t.Context(), d, 7, strings.NewReader(content))
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt), what)
	}
	require.Error(t, c.Put(t.Context(), "sha256:../../etc/passwd", 1, strings.NewReader("x")))
	require.Error(t, c.Put(t.Context(), d, fleet.MaxBlob+1, strings.NewReader("x")))
	broken := io.MultiReader(strings.NewReader("wei"), &failing{})
	require.ErrorIs(t, c.Put(t.Context(), d, 7, broken), errBroken)
	_, err := c.Lease().Path(t.Context(), d)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Missing))
	left, err := filepath.Glob(filepath.Join(dir, "*[^k]"))
	require.NoError(t, err)
	require.Empty(t, left, "only the lock is left")
}

var errBroken = errors.New("the line is cut")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

// Promise: what lies in the folder is not believed: what was changed before this
// process, or since it read it, comes anew; links and folders are not followed.
func TestCacheDoesNotTrustItsFolder(t *testing.T) {
	var asked atomic.Int64
	dir := t.TempDir()
	d := fleet.DigestOfBytes([]byte("plug-in"))
	path := filepath.Join(dir, d.Hex())
	require.NoError(t, os.WriteFile(path, []byte("malware"), 0o600))
	c := open(t, fleet.CacheOptions{Dir: dir, Fetch: from(&asked, "plug-in")})
	for i, change := range []func(){
		func() {},
		func() { require.NoError(t, os.WriteFile(path, []byte("malicious"), 0o600)) },
		func() {
			require.NoError(t, os.WriteFile(path, []byte("malware"), 0o600))
			require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1, 0)))
		},
	} {
		change()
		l := c.Lease()
		require.Equal(t, "plug-in", read(t, l, d))
		l.Release()
		require.EqualValues(t, i+1, asked.Load())
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/hosts", path))
	_, err := c.Lease().Path(t.Context(), d)
	require.Error(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = c.Lease().Path(t.Context(), d)
	require.Error(t, err)

	require.NoError(t, os.Chmod(dir, 0o777))
	_, err = fleet.OpenCache(fleet.CacheOptions{Dir: dir})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
}

// Promise: a server of contents that lies, breaks off or has nothing is an error
// that says so, and the next one is asked anew.
func TestCacheDoesNotTrustItsServer(t *testing.T) {
	d := fleet.DigestOfBytes([]byte("plug-in"))
	answers := []func() (io.ReadCloser, error){
		func() (io.ReadCloser, error) { return nil, errBroken },
		func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("malware")), nil },
		func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("plug"), failing{})), nil
		},
		func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("plug-in")), nil },
	}
	turn := 0
	c := open(t, fleet.CacheOptions{Fetch: func(context.Context, fleet.Digest) (io.ReadCloser, error) {
		turn++
		return answers[turn-1]()
	}})
	for range 3 {
		_, err := c.Lease().Path(t.Context(), d)
		require.NotNil(t, fault.As(err))
		require.NotEmpty(t, fault.As(err).Hint)
	}
	require.Equal(t, "plug-in", read(t, c.Lease(), d))
}

// Promise: many that want the same content at once fetch it once; one that gives
// up takes nothing from the others.
func TestCacheFetchesOnce(t *testing.T) {
	var asked atomic.Int64
	entered, gate := make(chan struct{}, 100), make(chan struct{})
	c := open(t, fleet.CacheOptions{Fetch: func(ctx context.Context, _ fleet.Digest) (io.ReadCloser, error) {
		asked.Add(1)
		entered <- struct{}{}
		select {
		case <-gate:
			return io.NopCloser(strings.NewReader("weights")), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	d := fleet.DigestOfBytes([]byte("weights"))
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { _, err := c.Lease().Path(ctx, d); gone <- err }()
	<-entered
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			l := c.Lease()
			defer l.Release()
			_, err := l.Path(t.Context(), d)
			require.NoError(t, err)
		})
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	close(gate)
	all.Wait()
	require.EqualValues(t, 2, asked.Load(), "the one that gave up, and one for all others")
}

// Promise: what was not used for longest makes room; what is held by a lease, of
// this process or of another, stays; what finds no room says so.
func TestCacheMakesRoom(t *testing.T) {
	dir := t.TempDir()
	c, other := open(t, fleet.CacheOptions{Dir: dir, Limit: 30}), open(t, fleet.CacheOptions{Dir: dir, Limit: 30})
	ten := func(i int) string { return fmt.Sprintf("content %02d", i) }
	var d []fleet.Digest
	for i := range 3 {
		d = append(d, put(t, c, ten(i)))
		require.NoError(t, os.Chtimes(filepath.Join(dir, d[i].Hex()), time.Unix(int64(1000+i), 0), time.Time{}))
	}
	held := other.Lease() // the oldest, in another process
	require.Equal(t, ten(0), read(t, held, d[0]))
	require.NoError(t, os.Chtimes(filepath.Join(dir, d[0].Hex()), time.Unix(1, 0), time.Time{}))
	d = append(d, put(t, c, ten(3)))
	has := func(i int) bool {
		_, err := os.Stat(filepath.Join(dir, d[i].Hex()))
		return err == nil
	}
	require.True(t, has(0), "it is held")
	require.False(t, has(1), "it was not used for longest")
	require.True(t, has(2) && has(3))

	mine := c.Lease()
	defer mine.Release()
	read(t, mine, d[2])
	read(t, mine, d[3])
	full := fleet.DigestOfBytes([]byte(ten(4)))
	err := c.Put(t.Context(), full, 10, strings.NewReader(ten(4)))
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Exhausted))
	held.Release()
	put(t, c, ten(4))
	require.False(t, has(0))
}

// Promise: what a writer that was killed has left makes room; what one writes does not.
func TestCacheRemovesWhatDeadWritersLeave(t *testing.T) {
	dir := t.TempDir()
	dead, strange := filepath.Join(dir, "1.part"), filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(dead, make([]byte, 100), 0o600))
	require.NoError(t, os.WriteFile(strange, make([]byte, 100), 0o600))
	c := open(t, fleet.CacheOptions{Dir: dir, Limit: 30})
	writes := &slow{begun: make(chan struct{}), gate: make(chan struct{}), content: bytes.NewReader([]byte("0123456789"))}
	result := make(chan error)
	go func() { result <- c.Put(t.Context(), fleet.DigestOfBytes([]byte("0123456789")), 10, writes) }()
	<-writes.begun
	require.NoFileExists(t, dead)
	put(t, c, strings.Repeat("x", 20))
	err := c.Put(t.Context(), fleet.DigestOfBytes(make([]byte, 25)), 25, bytes.NewReader(make([]byte, 25)))
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Exhausted), "10 bytes are being written")
	close(writes.gate)
	require.NoError(t, <-result)
	require.FileExists(t, strange)
}

// slow tells that it is read, and waits.
type slow struct {
	begun, gate chan struct{}
	once        sync.Once
	content     io.Reader
}

func (s *slow) Read(b []byte) (int, error) {
	s.once.Do(func() { close(s.begun); <-s.gate })
	return s.content.Read(b)
}
