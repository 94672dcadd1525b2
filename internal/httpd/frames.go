package httpd

import (
	"crypto/tls"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

type tlsConn = tls.Conn

// Limits of the work that one HTTP/2 connection can cause with frames that carry no data:
// requests, resets, settings, pings, priorities, continuations, window updates and empty data
// frames. A reset counts as ten frames, because it discards a request that was begun. Bytes
// that the server sends earn credit for frames, because clients that read them send window
// updates.
const (
	framesPerReset  = 10
	framesPerSecond = 1000
	framesAtOnce    = 2000
	bytesPerFrame   = 1 << 10
)

// pacedConn is an HTTP/2 connection whose frames are read at a limited rate. Frames that arrive
// faster wait in the client's buffers.
type pacedConn struct {
	*tlsConn
	pace *pace
}

// Read reads, and waits if the client has sent frames too fast.
func (c *pacedConn) Read(to []byte) (int, error) {
	n, err := c.tlsConn.Read(to)
	if wait := c.pace.read(to[:n]); wait > 0 {
		time.Sleep(wait)
	}
	return n, err
}

// Write writes and earns credit for the client's acknowledgment frames.
func (c *pacedConn) Write(p []byte) (int, error) {
	n, err := c.tlsConn.Write(p)
	c.pace.wrote(n)
	return n, err
}

// pace counts the frames in a stream of bytes. One goroutine may read while another writes.
type pace struct {
	limit *rate.Limiter
	skip  int     // bytes to skip of the preface or of a frame's payload
	head  [9]byte // the frame header being read
	have  int     // bytes of it that were read

	mu     sync.Mutex
	unpaid int // sent bytes that have not earned credit yet
	credit int // frames that are free because of sent bytes
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

// take uses up credit for frames, then the rate limit.
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
