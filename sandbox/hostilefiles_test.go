package sandbox_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// meanwhile repeats changes, one after another and a moment apart, until the
// test ends.
func meanwhile(t *testing.T, changes ...func() error) {
	var stop sync.WaitGroup
	done := make(chan struct{})
	stop.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if err := changes[n%len(changes)](); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(50 * time.Microsecond)
		}
	})
	t.Cleanup(func() { close(done); stop.Wait() })
}

// often repeats try forty times, and on until it was enough.
func often(try func(), enough func() bool) {
	start := time.Now()
	for n := 0; n < 40 || !enough() && time.Since(start) < suiteTime; n++ {
		try()
	}
}

// replace puts content where path is, in one step.
func replace(path, content string) func() error {
	return func() error {
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
}

// overwrite writes content into the file at path.
func overwrite(path, content string) func() error {
	return func() error { return os.WriteFile(path, []byte(content), 0o600) }
}

// link puts a link where path is, in one step.
func link(path, to string) func() error {
	return func() error {
		if err := os.Symlink(to, path+".new"); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
}

// Promise: a file changed between check and load is read once: the bytes that
// were checked, digested, compiled and reported are the same.
func TestFileChangedBetweenCheckAndLoad(t *testing.T) {
	rewards := map[string]float64{} // score by digest
	var contents []string
	for n := range 2 {
		content := string(guest{evaluate: score(float64(n)) + scored}.wasm())
		rewards[fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))] = float64(n)
		contents = append(contents, content)
	}
	for name, change := range map[string]func(path, content string) func() error{"replaced": replace, "overwritten": overwrite} {
		for _, mode := range []int{0, 3} {
			t.Run(name+"/"+suiteModes[mode].name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "reward.wasm")
				require.NoError(t, overwrite(path, contents[0])())
				r := newRuntime(t, suiteLimits, suiteModes[mode].change)
				meanwhile(t, change(path, contents[1]), change(path, contents[0]))
				seen := map[string]int{}
				often(func() {
					m, err := r.LoadFile(context.Background(), path)
					if err != nil { // half of it was written
						require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
						return
					}
					e := m.Evaluate(context.Background(), small())
					require.Equal(t, reward.Scored, e.Outcome, e.Reason)
					want, known := rewards[m.Info().Digest]
					require.True(t, known, "the digest of neither")
					require.Equal(t, want, e.Result.Score)
					seen[m.Info().Digest]++
					m.Close(context.Background())
				}, func() bool { return len(seen) == len(rewards) })
				require.Len(t, seen, len(rewards), "both were loaded")
			})
		}
	}
}

// Promise: a file of a folder that is swapped for links, out of it and to what
// is left out of it, and for a pipe that nobody writes to, over and over, is
// read as it was or refused; no link is followed, and nothing waits.
func TestLinkSwappedIntoAFolder(t *testing.T) {
	needInterpreters(t)
	secret := filepath.Join(folder(t, map[string]string{"secret": "export const value = 666;\n"}), "secret")
	files := map[string]string{
		"reward.js": "import { value } from './value.js';\nexport default () => value;\n", "value.js": "export const value = 1;\n",
		".git/secret": "export const value = 666;\n",
	}
	for n := range 100 { // which come between the look at the folder and the reading of value.js
		files[fmt.Sprint("a", n)] = "data"
	}
	dir := folder(t, files)
	r, path := oneWorker(t), filepath.Join(dir, "value.js")
	elsewhere := filepath.Join(t.TempDir(), "value.js") // on its way
	move := func(change func() error) func() error {
		return func() error {
			if err := change(); err != nil {
				return err
			}
			return os.Rename(elsewhere, path)
		}
	}
	plain := move(replace(elsewhere, "export const value = 1;\n"))
	pipe := func() error { return syscall.Mkfifo(elsewhere, 0o600) }
	meanwhile(t, move(link(elsewhere, secret)), plain, move(link(elsewhere, ".git/secret")), plain, move(pipe), plain)
	loaded, refused := 0, 0
	often(func() {
		m, err := r.LoadFile(context.Background(), dir)
		if err != nil {
			require.Contains(t, []fault.Kind{fault.Refused, fault.Missing}, fault.As(err).Kind, "%v", err)
			said := strings.ReplaceAll(err.Error(), dir, "") // whose name is random, and may have the number
			require.NotContains(t, said, "666")
			refused++
			return
		}
		require.Equal(t, 1.0, m.Evaluate(context.Background(), small()).Result.Score)
		m.Close(context.Background())
		loaded++
	}, func() bool { return loaded > 0 && refused > 0 })
	require.Positive(t, loaded)
	require.Positive(t, refused)
}

// Promise: a symlink out of a mount is refused before anything is read, in
// every place of a folder and in both languages.
func TestLinksOutOfAFolderAreRefused(t *testing.T) {
	r := newRuntime(t)
	outside := folder(t, map[string]string{"secret.py": "value = 666\n", "secret.js": "export const value = 666;\n"})
	for _, ext := range []string{".py", ".js"} {
		for _, at := range []string{"value" + ext, "pkg/value" + ext, "pkg/data"} {
			dir := folder(t, map[string]string{"reward" + ext: "x", "pkg/other" + ext: "x"})
			for _, to := range []string{filepath.Join(outside, "secret"+ext), outside, "/", "reward" + ext, "nowhere"} {
				path := filepath.Join(dir, at)
				require.NoError(t, os.Symlink(to, path))
				_, err := r.LoadFile(context.Background(), dir)
				require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused), "%s to %s", at, to)
				require.ErrorContains(t, err, "not a regular file")
				require.NoError(t, os.Remove(path))
			}
		}
	}
	entry := folder(t, map[string]string{"other.py": "x"})
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.py"), filepath.Join(entry, "reward.py")))
	_, err := r.LoadFile(context.Background(), entry)
	require.NotNil(t, fault.As(err))
}

// Promise: a file that never ends is refused like one that is too large, and
// so is a script.
func TestEndlessFiles(t *testing.T) {
	r := newRuntime(t, func(c *sandbox.Config) { c.ModuleMiB, c.ScriptMiB = 1, 1 })
	_, err := r.LoadFile(context.Background(), "/dev/zero")
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
	require.ErrorContains(t, err, "more than 1048576 bytes")
	big := strings.Repeat("#", 1<<20+1)
	for _, dir := range []string{folder(t, map[string]string{"reward.py": big}), folder(t, map[string]string{"reward.js": "", "data": big})} {
		_, err := r.LoadFile(context.Background(), dir)
		require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
		require.ErrorContains(t, err, "script_mib")
	}
	_, err = r.LoadFile(context.Background(), filepath.Join(folder(t, map[string]string{"a.py": big}), "a.py"))
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Refused))
	require.ErrorContains(t, err, "script_mib")
}
