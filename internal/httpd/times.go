package httpd

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// unreadWait is how long the rest of a body may take that nobody reads.
const unreadWait = 2 * time.Second

// unread bounds the time for what h leaves of a body. net/http reads some of it
// before it sends a short answer: a client that sends nothing of what it has
// announced would keep the connection for ever, without a key.
func unread(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadWait))
}

// timely is the handler with its bounds of bodies.
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

// timely is a body that does not come for ever.
type timely struct {
	io.ReadCloser
	control     *http.ResponseController
	body, pause time.Duration // of which body is spent with the first read
}

// Read reads, within the time that is left.
func (t *timely) Read(to []byte) (int, error) {
	if d := cmp.Or(t.body, t.pause); d > 0 {
		_ = t.control.SetReadDeadline(time.Now().Add(d)) // a recorder of a test has none
		t.body = 0
	}
	n, err := t.ReadCloser.Read(to)
	if errors.Is(err, io.EOF) {
		_ = t.control.SetReadDeadline(time.Time{}) // the connection is watched for its end, in its own time
	}
	return n, err
}

// Times are bounds in the place of those that servers have.
type Times struct {
	Header, Idle, Body time.Duration
	Connections        int
}

var hurried atomic.Pointer[Times]

// Hurry gives all servers that are made from now on these bounds, until restore is
// called: for tests that wait for what happens at the end of a time.
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
