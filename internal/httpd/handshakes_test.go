package httpd_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/httpd"
)

// Promise: at most half of the CPUs compute TLS handshakes, connections that send nothing block
// none, and all handshakes finish.
func TestHandshakesLeaveProcessors(t *testing.T) {
	var now, most atomic.Int64
	config := certificate(t)
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		n := now.Add(1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		for range 100 {
			runtime.Gosched()
		}
		now.Add(-1)
		return nil, nil
	}
	s := &http.Server{TLSConfig: config, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	at := httpd.Protect(s, l, 100)
	go func() { ended <- s.ServeTLS(at, "", "") }()
	for range 10 {
		dial(t, l.Addr().String(), false)
	}
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
			if err == nil {
				_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			}
			if err == nil {
				_, err = io.ReadAll(c)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(max(1, cpus.Count()/2)))
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
}
