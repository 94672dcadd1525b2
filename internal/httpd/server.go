package httpd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// defaultConnections is how many connections there are at one time in a server that
// does not say it; headerBytes is how large the header of a request may be.
const (
	defaultConnections = 1024
	headerBytes        = 64 << 10
)

// Config says what a server answers, and what its connections may cost.
type Config struct {
	Handler     http.Handler
	TLS         *tls.Config     // nil: the server speaks in the clear
	Connections int             // the most at one time; 0 is 1024
	Body        time.Duration   // the most for reading the body of a request; 0: Pause, or the handler, bounds it
	Pause       time.Duration   // the most between two pieces of a body, where Body is 0; 0: the handler bounds it
	Write       time.Duration   // the most for writing an answer; 0: the handler bounds it
	Idle        time.Duration   // the most between two requests; 0 is three minutes
	Life        context.Context // ends every request when it ends; nil never does
	Log         *slog.Logger    // nil is silent
	Clear       bool            // somebody else says that the server speaks in the clear

	header time.Duration // the most for the header of a request; 0 is ten seconds
}

// Server is an HTTP server of Merit: every one listens, limits its connections and
// stops in the same way.
type Server struct {
	http     *http.Server
	listener net.Listener
	secure   bool // net/http sets a TLSConfig of its own
}

// New makes a server that answers on l. Requests wait until Serve is called.
func New(l net.Listener, c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.hurry()
	s := &Server{secure: c.TLS != nil, http: &http.Server{
		Handler: c.timely(), TLSConfig: c.TLS, WriteTimeout: c.Write, ReadHeaderTimeout: c.header, IdleTimeout: c.Idle,
		MaxHeaderBytes: headerBytes, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}}
	if c.Life != nil {
		s.http.BaseContext = func(net.Listener) context.Context { return c.Life }
	}
	s.listener = Protect(s.http, l, cmp.Or(c.Connections, defaultConnections))
	if at := l.Addr(); c.TLS == nil && !c.Clear && at.Network() == "tcp" && !Loopback(at.String()) {
		c.Log.Warn("keys and data cross the network in the clear", "listen", at.String(), "hint", "give the server a certificate, or put a proxy with TLS before it and listen on 127.0.0.1")
	}
	return s
}

// URL is where the server listens: http://HOST:PORT, https://HOST:PORT or unix:PATH.
func (s *Server) URL() string {
	at := s.listener.Addr()
	switch {
	case at.Network() == "unix":
		return "unix:" + at.String()
	case s.secure:
		return "https://" + at.String()
	}
	return "http://" + at.String()
}

// Serve answers requests until ctx ends, and then returns nil: Drain is next. The
// error says why the server can no longer listen.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.answer() }()
	select {
	case err := <-ended:
		return &fault.Error{Boundary: fault.Server, Kind: fault.Crashed, Where: s.URL(), What: "the server can no longer listen", Err: err, Hint: "start it again"}
	case <-ctx.Done():
		return nil
	}
}

func (s *Server) answer() error {
	if s.secure {
		return s.http.ServeTLS(s.listener, "", "")
	}
	return s.http.Serve(s.listener)
}

// Drain takes no new requests and waits until those under way are answered, or
// ctx ends.
func (s *Server) Drain(ctx context.Context) error {
	return errors.Join(s.http.Shutdown(ctx), s.hangUp())
}

// Run serves until ctx ends, and then answers what was asked before, for as long as
// most. hint says what helps where that is not enough.
func (s *Server) Run(ctx context.Context, most time.Duration, hint string) error {
	if err := s.Serve(ctx); err != nil {
		return err
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	return s.Late(s.Drain(drain), most, hint)
}

// Late cuts off what Drain left under way after most, and returns the error of a
// server that did not end in time; nil if err, that of Drain, is nil.
func (s *Server) Late(err error, most time.Duration, hint string) error {
	closed := s.Close()
	if err == nil {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Server, Kind: fault.Timeout, Where: s.URL(), What: "not every request was answered in " + most.String(),
		Err: errors.Join(err, closed), Hint: hint,
	}
}

// Close ends the server and its connections at once, whether or not it has served.
func (s *Server) Close() error { return errors.Join(s.http.Close(), s.hangUp()) }

// hangUp closes the listener, which net/http does only if it has served.
func (s *Server) hangUp() error {
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Bearer returns the key of the Authorization among headers, or "" if it names
// another scheme or none.
func Bearer(h http.Header) string {
	key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return key
}

// Guard decides who may ask a server.
type Guard struct {
	Key     string // that clients must send; empty lets everybody in
	Here    bool   // clients must ask this machine by its name or address
	guesses Guesses
}

// Same compares secrets in a time that says nothing of where they differ.
func Same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Right reports whether said is the key.
func (g *Guard) Right(said string) bool { return g.Key == "" || Same(said, g.Key) }

// Check returns 0 if a request may be answered, of which right says that its key is
// the right one. Otherwise it returns the status of the refusal: 403 for a page
// whose name was made to lead to this machine, 401 for a wrong key, 429 for too many
// of them.
func (g *Guard) Check(w http.ResponseWriter, r *http.Request, right bool) int {
	switch {
	case g.Here && !Loopback(r.Host):
		return http.StatusForbidden
	case right:
		return 0
	case !g.guesses.Wrong(r):
		w.Header().Set("Retry-After", "1")
		return http.StatusTooManyRequests
	}
	return http.StatusUnauthorized
}
