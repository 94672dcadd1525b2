package serving_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/serving"
)

// Promise: ten thousand connections that send nothing, or half a request, do not block
// /healthz, and none of them gets a response as if it had sent a request.
func TestTenThousandIdleConnections(t *testing.T) {
	testneeds.NotShort(t)
	c := serving.DefaultConfig()
	c.Listen, c.Dir = "127.0.0.1:0", t.TempDir()
	n := min(10_000, files(t)-c.Connections-500) // both ends are in this process
	require.Greater(t, n, c.Connections, "the test needs more connections than the server takes: raise the limit of open files (ulimit -Hn)")
	s, err := serving.Open(t.Context(), c, serving.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() { stop(); require.NoError(t, <-ended); s.Close() }()

	address := strings.TrimPrefix(s.URL(), "http://")
	for i := range n {
		idle, err := net.Dial("tcp", address)
		require.NoError(t, err, "connection %d", i)
		defer idle.Close()
		if i%2 == 0 {
			_, _ = fmt.Fprint(idle, "GET /healthz HTTP/1.1\r\nHost: x") // or the server has closed it
		}
		if i%1000 == 999 || i == n-1 {
			fresh := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := fresh.Get(s.URL() + "/healthz")
			require.NoError(t, err, "beside %d connections", i+1)
			resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode)
		}
	}
	t.Logf("%d idle connections", n)
}

// files raises the limit of open files of this process to the maximum and returns it.
func files(t *testing.T) int {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Cur = limit.Max
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	return int(min(limit.Max, 1<<20))
}
