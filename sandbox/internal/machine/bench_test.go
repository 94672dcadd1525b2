package machine

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
)

var linuxEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root"}

// Promise: a machine starts in at most 5 ms, and 1,000 are alive at one time.
func TestAThousandMachines(t *testing.T) {
	u := userland(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ctx := context.Background()
	machines := make([]*Machine, 1000)
	longest, sum := time.Duration(0), time.Duration(0)
	for k := range machines {
		at := time.Now()
		machines[k] = u.new()
		r := machines[k].Run(ctx, box.Command{Args: []string{"bash", "-c", fmt.Sprintf("echo machine %d > /root/name", k)}, Env: linuxEnv, Dir: "/root"})
		d := time.Since(at)
		longest, sum = max(longest, d), sum+d
		require.NoError(t, r.Err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("start with the first command: mean %v, longest %v; memory of the host %.1f KiB a machine", sum/1000, longest, float64(after.HeapAlloc-before.HeapAlloc)/1024/1000)
	at := time.Now()
	var group sync.WaitGroup
	work := make(chan int)
	for range 2 {
		group.Go(func() {
			for k := range work {
				r := machines[k].Run(ctx, box.Command{Args: []string{"bash", "-c", "cat name; ls / | wc -l; python3 -c 'print(open(\"/root/name\").read())'"}, Env: linuxEnv, Dir: "/root"})
				if want := fmt.Sprintf("machine %d\n15\nmachine %d\n\n", k, k); string(r.Output) != want {
					t.Errorf("%d: %q %s %v", k, r.Output, r.Errors, r.Err)
				}
			}
		})
	}
	for k := range machines {
		work <- k
	}
	close(work)
	group.Wait()
	t.Logf("a command with python3 on each of 1,000 by two workers: %v", time.Since(at))
}

func BenchmarkNew(b *testing.B) {
	u := userland(b)
	for b.Loop() {
		u.new()
	}
}

func BenchmarkCommand(b *testing.B) {
	u := userland(b)
	m := u.new()
	for name, script := range map[string]string{"true": "true", "pipe": "echo a | grep a", "python": "python3 -c 'print(1)'"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := m.Run(context.Background(), box.Command{Args: []string{"bash", "-c", script}, Env: linuxEnv, Dir: "/"}); r.Err != nil || r.Status != 0 {
					b.Fatal(r)
				}
			}
		})
	}
}
