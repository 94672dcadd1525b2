package registry

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// lively is a connection that times out when neither side has sent a byte for a while,
// regardless of its total duration.
type lively struct {
	net.Conn
	stall time.Duration
}

// Read moves the deadline of both directions: a side that reads a long upload is
// not idle.
func (c *lively) Read(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.stall)) // a closed connection reports it elsewhere
	n, err := c.Conn.Read(p)
	if n > 0 {
		_ = c.SetDeadline(time.Now().Add(c.stall))
	}
	return n, err
}

func (c *lively) Write(p []byte) (n int, err error) {
	const piece = 64 << 10 // a slow line can send this within the stall time
	for n < len(p) && err == nil {
		_ = c.SetDeadline(time.Now().Add(c.stall))
		var m int
		m, err = c.Conn.Write(p[n:min(n+piece, len(p))])
		n += m
	}
	return n, err
}

// sending reports how much of a layer has been sent.
type sending struct {
	base     http.RoundTripper
	mu       sync.Mutex
	progress func(done, total int64)
	ended    bool
	attempt  int
}

// shown is the minimum size of a body for which progress is reported.
const shown = 64 << 10

func (s *sending) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.ContentLength > shown {
		s.mu.Lock()
		s.attempt++
		body := &moved{in: r.Body, total: r.ContentLength, tell: s.teller(s.attempt)}
		s.mu.Unlock()
		r = r.Clone(r.Context())
		r.Body = body
	}
	return s.base.RoundTrip(r)
}

// teller returns the progress function of one attempt. An earlier attempt may still read
// its body during the next one; its progress is discarded.
func (s *sending) teller(attempt int) func(done, total int64) {
	return func(done, total int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended && attempt == s.attempt {
			s.progress(done, total)
		}
	}
}

func (s *sending) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// moved counts the bytes that are read from a body.
type moved struct {
	in          io.ReadCloser
	done, total int64
	tell        func(done, total int64)
}

func (m *moved) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	if m.done += int64(n); n > 0 {
		m.tell(m.done, m.total)
	}
	return n, err
}

func (m *moved) Close() error { return m.in.Close() }
