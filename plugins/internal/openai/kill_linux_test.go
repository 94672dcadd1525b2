package openai

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/sdk/merit"
)

// running lists the processes of this test that run the plug-in.
func running(t testing.TB) (pids []int) {
	path := filepath.Join(binaries, "openai")
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	for _, link := range links {
		if exe, err := os.Readlink(link); err != nil || exe != path {
			continue
		}
		var pid int
		_, err := fmt.Sscanf(strings.TrimPrefix(link, "/proc/"), "%d/exe", &pid)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// Promise: a plug-in that is killed in the middle of a rollout is started
// again, and leaves no trace in what is played.
func TestKilledPlugin(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, func(c chattest.Call) chattest.Reply { return walk(t, c) })
	want, err := play(t, s.URL, nil)
	require.NoError(t, err)

	var once sync.Once
	killed := 0
	s = serve(t, func(c chattest.Call) chattest.Reply {
		if c.Number == 12 {
			once.Do(func() {
				for _, pid := range running(t) {
					if syscall.Kill(pid, syscall.SIGKILL) == nil { // else it has ended by itself
						killed++
					}
				}
			})
		}
		return walk(t, c)
	})
	got, err := play(t, s.URL, nil, func(c *merit.Config) { c.Rollout.InFlight = 4 })
	require.NoError(t, err)
	require.Equal(t, 1, killed)
	require.Equal(t, want.lines, got.lines)
}
