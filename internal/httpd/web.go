// Package httpd is what all of Merit's HTTP servers do about their connections, so
// that a client that leaves, breaks off, idles or floods harms nobody else:
//
//   - A request that is complete is answered, also when the client has closed its
//     own direction (shutdown(SHUT_WR), as nc -N does). The request's context ends
//     only when the client is gone.
//   - An answer that is not complete never looks complete: see Abort.
//   - A connection without a request under way is closed when a new one needs its
//     place, the longest idle first.
//   - HTTP/2 frames that cost the server more than the client arrive at a bounded
//     rate.
//   - TLS handshakes compute on half of the processors at most.
//   - Wrong keys are limited by address: see Guesses.
package httpd

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// What Protect sets of a server that does not say it itself.
const (
	headerTime = 10 * time.Second
	idleTime   = 3 * time.Minute
)

// Protect prepares s, whose Handler and TLSConfig are set, to serve l, and returns
// the listener that s is to serve instead: it has at most as many connections
// open at one time. A server that does not say how long a header and an idle
// connection may take gets times of Protect.
func Protect(s *http.Server, l net.Listener, connections int) net.Listener {
	s.Handler = Present(s.Handler)
	s.ReadHeaderTimeout = cmp.Or(s.ReadHeaderTimeout, headerTime)
	s.IdleTimeout = cmp.Or(s.IdleTimeout, idleTime)
	inner := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		ctx = context.WithValue(ctx, connKey{}, connected{wire: c, conn: bare(c), life: ctx})
		if inner != nil {
			ctx = inner(ctx, c)
		}
		return ctx
	}
	changed := s.ConnState
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if mine := bare(c); mine != nil && state == http.StateIdle {
			mine.idle()
		}
		if changed != nil {
			changed(c, state)
		}
	}
	if s.TLSConfig != nil {
		paceHTTP2(s)
		limitHandshakes(s)
	}
	return newDoor(l, connections)
}

// Abort ends a request so that its answer is not taken for complete: HTTP/1.1 is
// cut off before the last chunk, HTTP/2 resets the stream. Nothing is logged. It
// does not return.
func Abort() { panic(http.ErrAbortHandler) }

// paceHTTP2 has s read the frames of its HTTP/2 connections at a bounded rate.
func paceHTTP2(s *http.Server) {
	//lint:ignore SA1019 net/http's own HTTP/2 leaves no place to pace frames between the connection and its reader
	var h2 http2.Server
	//lint:ignore SA1019 as above
	if err := http2.ConfigureServer(s, &h2); err != nil {
		panic(err) // of cipher suites, which this house does not choose
	}
	s.TLSNextProto[http2.NextProtoTLS] = func(hs *http.Server, c *tlsConn, h http.Handler) {
		ctx := context.Background()
		if base, ok := h.(interface{ BaseContext() context.Context }); ok {
			ctx = base.BaseContext()
		}
		//lint:ignore SA1019 as above
		h2.ServeConn(&pacedConn{tlsConn: c, pace: newPace()}, &http2.ServeConnOpts{Context: ctx, Handler: h, BaseConfig: hs})
	}
}
