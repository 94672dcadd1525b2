package httpd_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/httpd"
)

// Promise: over a Unix socket, too, a half-closed client is answered, and a client that is gone
// cancels its request.
func TestUnixSockets(t *testing.T) {
	entered, proceed := make(chan context.Context), make(chan bool)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- r.Context()
		select {
		case <-proceed:
			fmt.Fprint(w, "done")
		case <-r.Context().Done():
		}
	})}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	ended := make(chan error, 1)
	at := httpd.Protect(s, l, 10)
	go func() { ended <- s.Serve(at) }()
	for _, gone := range []bool{false, true} {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		say(t, c, "/", "1.1")
		ctx := <-entered
		if gone {
			require.NoError(t, c.Close())
			<-ctx.Done()
			continue
		}
		require.NoError(t, c.(*net.UnixConn).CloseWrite())
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, ctx.Err())
		proceed <- true
		require.Equal(t, 200, final(t, bufio.NewReader(c)).StatusCode)
		require.NoError(t, c.Close())
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
}
