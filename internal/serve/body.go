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

// Content types that are read.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// contentType returns the media type of the body if it is one of allowed.
func (c *call) contentType(allowed ...string) (string, error) {
	hint := "send Content-Type: " + strings.Join(allowed, " or ")
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Encoding", fmt.Sprintf("%q is not read", e), "send the body as it is")
	}
	given := c.r.Header.Get("Content-Type")
	if given == "" {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Type", "the request does not say what its body is", hint)
	}
	media, _, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(allowed, media) {
		return "", refuse(http.StatusUnsupportedMediaType, "Content-Type", fmt.Sprintf("%q is not read here", given), hint)
	}
	return media, nil
}

// length checks the length that the request gives for its body and reserves
// memory for it. name is the limit as operators know it.
func (c *call) length(name string, most int64) error {
	n := c.r.ContentLength
	switch {
	case n < 0:
		return refuse(http.StatusLengthRequired, "Content-Length", "the request does not say how long its body is",
			"send Content-Length; only "+typeNDJSON+" may come without")
	case n == 0:
		return refuse(http.StatusBadRequest, "body", "the body is empty", "send one")
	case n > most:
		return refuse(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("%d bytes are more than %d", n, most),
			"send less at one time, or a stream ("+typeNDJSON+"); the operator raises limits."+name)
	}
	if err := c.tenant.Afford(); err != nil {
		return err
	}
	return c.reserve(n)
}

// decode runs f, which decodes, checks or unpacks what the tenant has sent, in the
// tenant's turn: it takes no more of the processors than its evaluations may.
func (c *call) decode(f func() error) error {
	took, err := c.Scheduler.Decode(c.r.Context(), c.tenant, f)
	c.decoded.Add(int64(took))
	return err
}

// refused has the tenant wait for all that was decoded of a request that is refused
// with that status, wherever the fault was found.
func (c *call) refused(status int) {
	if status < http.StatusInternalServerError && c.tenant != nil {
		c.Scheduler.Wasted(c.tenant, time.Duration(c.decoded.Load()))
	}
}

// object reads the whole body, which is JSON, and holds it to that.
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

// received reads a body whose length was checked.
func (c *call) received() ([]byte, error) {
	text := make([]byte, c.r.ContentLength)
	if _, err := io.ReadFull(c.reader(), text); err != nil {
		return nil, c.cannotRead(err)
	}
	return text, nil
}

// cannotRead says why a body ended early.
func (c *call) cannotRead(err error) error {
	if timeout := (interface{ Timeout() bool })(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return refuse(http.StatusRequestTimeout, "body", fmt.Sprintf("nothing came for %v", c.Limits.Idle), "send the body without a pause")
	}
	return refuse(http.StatusBadRequest, "body", "it ends before the length that was announced", "send it whole")
}

// reader reads the body of the request with a bound on every pause.
func (c *call) reader() io.Reader { return &patient{c} }

// patient is a body whose sender may pause, but not for ever.
type patient struct{ c *call }

func (p *patient) Read(to []byte) (int, error) { return p.read(to, nil) }

// read reads, unless stopped is set, which may be nil. Whoever sets it ends a
// read that is under way by a deadline that has passed.
func (p *patient) read(to []byte, stopped *atomic.Bool) (int, error) {
	// A server without deadlines, as in tests, waits for ever.
	_ = p.c.control.SetReadDeadline(time.Now().Add(p.c.Limits.Idle))
	if stopped != nil && stopped.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := p.c.r.Body.Read(to)
	p.c.tenant.Received(int64(n))
	if errors.Is(err, io.EOF) {
		// From here on the connection is watched for its end: in its own time.
		_ = p.c.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
