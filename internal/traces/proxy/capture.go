package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
	"github.com/merit-rl/merit/internal/traces/proxy/lineage"
)

// call is a model call that passes through the proxy.
type call struct {
	api     *dialect.API
	whose   whose
	span    string
	harness harness
	scope   lineage.Key // the conversations that it may continue
	secrets []string    // never recorded

	start, first, ended time.Time // first is the time of the answer's first byte
	status              int       // HTTP status; 0 without an answer
	encoding            string    // content encoding of the answer
	stream              bool      // the answer is a stream of server-sent events
	failure             string    // why the answer is incomplete, if it is
	request, answer     []byte
	partly              string // why a body was not recorded whole, if so

	done   atomic.Bool
	memory *atomic.Int64 // bytes held by all calls
	budget int64
	most   int64
	held   int64
	lost   bool // there was no memory for its bodies
}

// keepRequest keeps a request's body if there is memory.
func (c *call) keepRequest(body []byte) {
	if int64(len(body)) > c.most {
		c.exceeded("request")
	} else if c.hold(int64(len(body))) {
		c.request = body
	}
}

func (c *call) exceeded(body string) {
	c.partly = fmt.Sprintf("the body of the %s exceeded the recording limit of %d bytes", body, c.most)
}

func (c *call) hold(n int64) bool {
	if c.memory.Add(n) > c.budget {
		c.memory.Add(-n)
		c.lost = true
		return false
	}
	c.held += n
	return true
}

// release frees the memory of the call.
func (c *call) release() {
	c.memory.Add(-c.held)
	c.held, c.request, c.answer = 0, nil, nil
}

func (c *call) keep(chunk []byte) {
	if c.first.IsZero() {
		c.first = time.Now()
	}
	if c.lost || c.partly != "" {
		return
	}
	if int64(len(c.answer)+len(chunk)) > c.most {
		c.exceeded("answer")
		return
	}
	if free := cap(c.answer) - len(c.answer); free < len(chunk) {
		grown := max(2*cap(c.answer), len(c.answer)+len(chunk), 4096)
		if !c.hold(int64(grown - cap(c.answer))) {
			return
		}
		c.answer = append(make([]byte, 0, grown), c.answer...)
	}
	c.answer = append(c.answer, chunk...)
}

// capture keeps the body of an answer while it passes through.
type capture struct {
	io.ReadCloser
	call *call
	end  func(c *call, failure string)
}

// Read keeps the bytes that it returns. The call ends before the agent receives its
// last bytes, so that the agent's next call ends later.
func (c *capture) Read(into []byte) (int, error) {
	n, err := c.ReadCloser.Read(into)
	if n > 0 && !c.call.done.Load() {
		c.call.keep(into[:n])
	}
	switch {
	case err == io.EOF || c.call.stream && bytes.Contains(into[:n], []byte(c.call.api.Last)):
		c.end(c.call, "")
	case err != nil && !errors.Is(err, io.ErrClosedPipe) && !isCanceled(err):
		c.end(c.call, "the answer was interrupted: "+err.Error())
	}
	return n, err
}

// plain returns the decoded answer, at most most bytes of it.
func (c *call) plain() []byte {
	if !packed(c.encoding) {
		return c.answer
	}
	return unpacked(c.answer, c.encoding, c.most)
}

// buffers is a pool of copy buffers.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
