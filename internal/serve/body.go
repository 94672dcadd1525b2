package serve

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/internal/serve/internal/fields"
)

// Content types that the server reads.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// contentType returns the media type of the body if it is one of allowed.
func (c *call) contentType(allowed ...string) (string, error) {
	hint := "send Content-Type: " + strings.Join(allowed, " or ")
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Encoding", fmt.Sprintf("%q is not supported", e), "send the body without an encoding")
	}
	given := c.r.Header.Get("Content-Type")
	if given == "" {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Type", "the request has no content type", hint)
	}
	media, _, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(allowed, media) {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Type", fmt.Sprintf("%q is not supported here", given), hint)
	}
	return media, nil
}

// length checks the Content-Length against the limit most and reserves memory for the body.
// name is the limit's name in the configuration.
func (c *call) length(name string, most int64) error {
	n := c.r.ContentLength
	switch {
	case n < 0:
		return refuse(http.StatusLengthRequired, "Content-Length", "the request has no Content-Length",
			"send Content-Length; only "+typeNDJSON+" may omit it")
	case n == 0:
		return refuse(http.StatusBadRequest, "body", "the body is empty", "send a body")
	case n > most:
		return refuse(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("%d bytes exceed the limit of %d", n, most),
			"send less in a request, or send a stream ("+typeNDJSON+"), or ask the operator to raise limits."+name)
	}
	if err := c.tenant.Afford(); err != nil {
		return err
	}
	return c.reserve(n)
}

// decode runs f, which decodes, checks or unpacks input of the tenant, when the scheduler gives
// the tenant its turn. Decoding thus uses no more CPU time than the tenant's evaluations may.
func (c *call) decode(f func() error) error {
	took, err := c.Scheduler.Decode(c.r.Context(), c.tenant, f)
	c.decoded.Add(int64(took))
	return err
}

// refused charges the tenant for everything that was decoded of a request that is refused with
// a client error.
func (c *call) refused(status int) {
	if status < http.StatusInternalServerError && c.tenant != nil {
		c.Scheduler.Wasted(c.tenant, time.Duration(c.decoded.Load()))
	}
}

// object reads the whole body and checks that it is JSON.
func (c *call) object() (body []byte, err error) {
	if body, err = c.body(); err == nil {
		err = c.decode(func() (err error) { body, err = fields.Check(body); return err })
	}
	return body, err
}

// body reads the whole body.
func (c *call) body() ([]byte, error) {
	if err := c.length("body", c.Limits.Body); err != nil {
		return nil, err
	}
	return c.received()
}

// received reads a body whose length has been checked.
func (c *call) received() ([]byte, error) {
	text := make([]byte, c.r.ContentLength)
	if _, err := io.ReadFull(c.reader(), text); err != nil {
		return nil, c.cannotRead(err)
	}
	return text, nil
}

// cannotRead returns the error for a body that ended early.
func (c *call) cannotRead(err error) error {
	if timeout := (interface{ Timeout() bool })(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return refuse(http.StatusRequestTimeout, "body", fmt.Sprintf("no data arrived for %v", c.Limits.Idle), "send the body without a pause")
	}
	return refuse(http.StatusBadRequest, "body", "the body is shorter than its Content-Length", "send the whole body")
}

// reader returns a reader of the body that limits every pause.
func (c *call) reader() io.Reader { return &patient{c} }

// patient reads a body and limits how long its sender may pause.
type patient struct{ c *call }

func (p *patient) Read(to []byte) (int, error) { return p.read(to, nil) }

// read reads unless stopped is set; stopped may be nil. To interrupt a running read, set it and
// then set a deadline in the past.
func (p *patient) read(to []byte, stopped *atomic.Bool) (int, error) {
	// A server without deadlines, as in tests, waits forever.
	_ = p.c.control.SetReadDeadline(time.Now().Add(p.c.Limits.Idle))
	if stopped != nil && stopped.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := p.c.r.Body.Read(to)
	p.c.tenant.Received(int64(n))
	if errors.Is(err, io.EOF) {
		// From here on, net/http watches the connection for its end, without a deadline.
		_ = p.c.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
