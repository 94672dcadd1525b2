package httpd_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/httpd"
)

// Promise: a server answers until its context is canceled, then answers pending requests, and
// frees its address, even if it has never served.
func TestServerEnds(t *testing.T) {
	l, err := httpd.Listen("127.0.0.1:0", "--listen")
	require.NoError(t, err)
	asked, answer := make(chan struct{}), make(chan struct{})
	s := httpd.New(l, httpd.Config{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked); <-answer })})
	_, err = httpd.Listen(l.Addr().String(), "--listen")
	require.ErrorContains(t, err, "the server cannot listen on this address")
	ctx, stop := context.WithCancel(t.Context())
	served, status := make(chan error, 1), make(chan int, 1)
	go func() { served <- s.Serve(ctx) }()
	go func() {
		r, err := http.Get(s.URL())
		if err != nil {
			status <- 0
			return
		}
		r.Body.Close()
		status <- r.StatusCode
	}()
	<-asked
	stop()
	require.NoError(t, <-served)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	require.Error(t, s.Drain(gone))
	close(answer)
	require.NoError(t, s.Drain(context.Background()))
	require.Equal(t, http.StatusOK, <-status)
	require.NoError(t, s.Late(nil, time.Second, ""))
	require.ErrorContains(t, s.Late(context.Canceled, time.Second, "wait"), "not every request was answered in 1s")

	l, err = httpd.Listen(l.Addr().String(), "--listen")
	require.NoError(t, err)
	require.NoError(t, httpd.New(l, httpd.Config{}).Close())
	l, err = httpd.Listen(l.Addr().String(), "--listen")
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// Promise: a server that others can reach warns if it uses plain HTTP.
func TestServerSaysThatItSpeaksInTheClear(t *testing.T) {
	for listen, warns := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		l, err := httpd.Listen(listen, "--listen")
		require.NoError(t, err)
		var log bytes.Buffer
		require.NoError(t, httpd.New(l, httpd.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}).Close())
		require.Equal(t, warns, bytes.Contains(log.Bytes(), []byte("unencrypted")), listen)
	}
}

// Promise: a guard admits clients that have the key, and refuses other host names and wrong
// keys with distinct statuses.
func TestGuard(t *testing.T) {
	check := func(g *httpd.Guard, host, said string) int {
		r := httptest.NewRequest(http.MethodGet, "http://"+host, nil)
		return g.Check(httptest.NewRecorder(), r, g.Right(said))
	}
	open, locked := &httpd.Guard{Here: true}, &httpd.Guard{Key: "key"}
	require.Zero(t, check(open, "localhost", "any"))
	require.Equal(t, 403, check(open, "evil.example", ""))
	require.Zero(t, check(locked, "evil.example", "key"))
	require.Equal(t, 401, check(locked, "localhost", "other"))
}

// Promise: a key counts only with the scheme Bearer.
func TestBearer(t *testing.T) {
	for header, want := range map[string]string{"Bearer key": "key", "key": "", "Basic key": "", "": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		require.Equal(t, want, httpd.Bearer(r.Header), header)
	}
}
