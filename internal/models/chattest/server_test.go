package chattest_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/models/chattest"
)

// Promise: latencies of the heavy tail are the same for the same seed, have the given median,
// and some are many times longer.
func TestHeavyTail(t *testing.T) {
	draw := func() (all []time.Duration) {
		for n := range 2000 {
			all = append(all, chattest.HeavyTail(time.Millisecond, 1, n))
		}
		return all
	}
	all := draw()
	require.Equal(t, all, draw())
	slices.Sort(all)
	require.InDelta(t, 1, all[1000].Seconds()*1e3, 0.1)
	require.Greater(t, all[1990], 10*time.Millisecond)
	require.Equal(t, 20*time.Millisecond, all[1999])
}

// Promise: a server with slots answers that many requests concurrently; the others wait.
func TestSlots(t *testing.T) {
	release := make(chan struct{})
	started := make(chan int, 5)
	server := chattest.New(t, 2, func(c chattest.Call) chattest.Reply {
		started <- c.Number
		return chattest.Reply{Body: chattest.Say("x").Body, Until: release}
	})
	done := make(chan error)
	for range 5 {
		go func() {
			r, err := http.Post(server.URL+"/chat/completions", "application/json", strings.NewReader("{}"))
			if err == nil {
				_, err = io.ReadAll(r.Body)
				r.Body.Close()
			}
			done <- err
		}()
	}
	require.Eventually(t, func() bool { return server.Most() == 5 }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, len(started), 2)
	close(release)
	for range 5 {
		require.NoError(t, <-done)
	}
	require.Len(t, started, 5)
}
