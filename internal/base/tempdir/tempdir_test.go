//go:build unix

package tempdir_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/tempdir"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// The test program is also a process that makes a folder and waits.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hold" {
		d, err := tempdir.New("held")
		if err == nil {
			err = os.WriteFile(filepath.Join(d.Path, "file"), []byte("left"), 0o400)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(d.Path)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed, or its parent ends
		return
	}
	os.Exit(m.Run())
}

// holder is another process with a folder.
func holder(t *testing.T) (path string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "hold")
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var once sync.Once
	kill = func() {
		once.Do(func() {
			require.NoError(t, cmd.Process.Kill())
			require.ErrorContains(t, cmd.Wait(), "killed")
		})
	}
	t.Cleanup(kill)
	return strings.TrimSpace(line), kill
}

// Promise: what a process leaves that was killed is removed by the next one that
// makes a folder; what living processes have stays, as does everything else there.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	dead, kill := holder(t)
	living, _ := holder(t)
	kill()
	require.FileExists(t, filepath.Join(dead, "file"), "nobody has removed it yet")

	strange := filepath.Join(base, "merit-fleet-12345") // of an earlier version
	require.NoError(t, os.Mkdir(strange, 0o700))
	target := filepath.Join(base, "target")
	require.NoError(t, os.Mkdir(target, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(target, "file"), nil, 0o600))
	require.NoError(t, os.Symlink(target, filepath.Join(base, "merit-link-1.tmp")))
	require.NoError(t, os.WriteFile(filepath.Join(base, "merit-file-1.tmp"), nil, 0o600))

	d, err := tempdir.New("fleet")
	require.NoError(t, err)
	require.NoDirExists(t, dead)
	require.FileExists(t, filepath.Join(living, "file"))
	require.DirExists(t, strange)
	require.FileExists(t, filepath.Join(target, "file"))
	require.FileExists(t, filepath.Join(base, "merit-file-1.tmp"))
	info, err := os.Stat(d.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	other, err := tempdir.New("fleet")
	require.NoError(t, err)
	require.DirExists(t, d.Path, "this process lives")
	require.NotEqual(t, d.Path, other.Path)
	for _, x := range []*tempdir.Dir{d, other, d} {
		require.NoError(t, x.Close())
		require.NoDirExists(t, x.Path)
	}
}

// Promise: many that begin at one time take nothing away from each other.
func TestAtOneTime(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 20 {
				d, err := tempdir.New("many")
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(d.Path, "file"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Promise: where no folder can be made, the error says so.
func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	_, err := tempdir.New("fleet")
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Exhausted))
}
