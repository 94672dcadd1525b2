package httpd

import (
	"crypto/tls"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

type tlsConn = tls.Conn

// Bounds of what one HTTP/2 connection may make the server do by frames that hold
// nothing: requests, resets, settings, pings, priorities, continuations, window
// updates and empty data. A reset counts as ten, since it throws away a request that
// was begun. Bytes that the server sends pay for the window updates of those who
// read them.
const (
	framesPerReset  = 10
	framesPerSecond = 1000
	framesAtOnce    = 2000
	bytesPerFrame   = 1 << 10
)

// pacedConn is an HTTP/2 connection whose frames are read at a bounded rate: what
// comes faster waits in the client's own buffers.
type pacedConn struct {
	*tlsConn
	pace *pace
}

// Read reads, and waits while the client has sent frames too fast.
func (c *pacedConn) Read(to []byte) (int, error) {
	n, err := c.tlsConn.Read(to)
	if wait := c.pace.read(to[:n]); wait > 0 {
		time.Sleep(wait)
	}
	return n, err
}

// Write writes; what was sent may be acknowledged by frames.
func (c *pacedConn) Write(p []byte) (int, error) {
	n, err := c.tlsConn.Write(p)
	c.pace.wrote(n)
	return n, err
}

// pace counts the frames in a stream of bytes. One goroutine reads, one writes.
type pace struct {
	limit *rate.Limiter
	skip  int     // bytes that are not a header: of the preface, or of a frame
	head  [9]byte // the header that is being read
	have  int     // bytes of it

	mu     sync.Mutex
	unpaid int // bytes that were sent and have not paid for a frame
	credit int // frames that were paid for
}

func newPace() *pace {
	return &pace{limit: rate.NewLimiter(framesPerSecond, framesAtOnce), skip: len(http2.ClientPreface)}
}

// read counts the frames that begin in p and returns how long to wait for them.
func (c *pace) read(p []byte) (wait time.Duration) {
	frames := 0
	for len(p) > 0 {
		if n := min(c.skip, len(p)); n > 0 {
			c.skip, p = c.skip-n, p[n:]
			continue
		}
		n := copy(c.head[c.have:], p)
		c.have, p = c.have+n, p[n:]
		if c.have < len(c.head) {
			break
		}
		c.have, c.skip = 0, int(c.head[0])<<16|int(c.head[1])<<8|int(c.head[2])
		switch kind := http2.FrameType(c.head[3]); {
		case kind == http2.FrameRSTStream:
			frames += framesPerReset
		case c.skip == 0 || kind != http2.FrameData:
			frames++
		}
	}
	return c.take(frames)
}

// take pays for frames, first with what was sent.
func (c *pace) take(frames int) (wait time.Duration) {
	c.mu.Lock()
	paid := min(frames, c.credit)
	c.credit -= paid
	c.mu.Unlock()
	for frames -= paid; frames > 0; frames -= framesAtOnce {
		wait = c.limit.ReserveN(time.Now(), min(frames, framesAtOnce)).Delay()
	}
	return wait
}

func (c *pace) wrote(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unpaid += n
	c.credit = min(c.credit+c.unpaid/bytesPerFrame, framesAtOnce)
	c.unpaid %= bytesPerFrame
}
