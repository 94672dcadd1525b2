package httpd

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// unreadWait is the time limit for the rest of a body that the handler did not read.
const unreadWait = 2 * time.Second

// unread sets a time limit for the part of a body that the handler left unread. net/http reads
// some of it before it sends a short response, so a client that sends nothing could otherwise
// keep the connection forever, without a key.
func unread(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadWait))
}

// timely returns the handler with the time limits for bodies.
func (c *Config) timely() http.Handler {
	if c.Body == 0 && c.Pause == 0 {
		return c.Handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &timely{r.Body, http.NewResponseController(w), c.Body, c.Pause}
		}
		c.Handler.ServeHTTP(w, r)
	})
}

// timely is a body with time limits.
type timely struct {
	io.ReadCloser
	control     *http.ResponseController
	body, pause time.Duration // body is used up by the first read
}

// Read reads within the time limit.
func (t *timely) Read(to []byte) (int, error) {
	if d := cmp.Or(t.body, t.pause); d > 0 {
		_ = t.control.SetReadDeadline(time.Now().Add(d)) // a test recorder has no deadlines
		t.body = 0
	}
	n, err := t.ReadCloser.Read(to)
	if errors.Is(err, io.EOF) {
		_ = t.control.SetReadDeadline(time.Time{}) // net/http now watches the connection for its end, without a deadline
	}
	return n, err
}

// Times override the time limits of servers.
type Times struct {
	Header, Idle, Body time.Duration
	Connections        int
}

var hurried atomic.Pointer[Times]

// Hurry applies these limits to all servers that are created until restore is called. It is for
// tests that wait for a time limit.
func Hurry(t Times) (restore func()) {
	before := hurried.Swap(&t)
	return func() { hurried.Store(before) }
}

func (c *Config) hurry() {
	t := hurried.Load()
	if t == nil {
		return
	}
	c.header = t.Header
	c.Idle, c.Connections = cmp.Or(t.Idle, c.Idle), cmp.Or(t.Connections, c.Connections)
	if c.Body > 0 {
		c.Body = cmp.Or(t.Body, c.Body)
	} else if c.Pause > 0 {
		c.Pause = cmp.Or(t.Body, c.Pause)
	}
}
