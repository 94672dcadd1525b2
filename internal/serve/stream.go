package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/merit-rl/merit/core/scoring"
)

// stream handles an evaluation with one trajectory per line. It sends results while later
// trajectories arrive.
func (c *call) stream() error {
	ref, o, err := c.named()
	if err != nil {
		return err
	}
	window := c.Limits.window()
	if err := c.reserve(window); err != nil {
		return err
	}
	x, err := c.open(ref, o)
	if err != nil {
		return err
	}
	// Full duplex is the default in HTTP/2, and unnecessary for a test recorder, which has the
	// whole body.
	if err := c.control.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	s := &scoring.Stream{
		Pool: x.pool, Group: x.group, Batch: x.batch, Parallel: x.parallel, Doubts: scoring.NewDoubts(x.pool),
		Window: lines, Bytes: window, MaxLine: c.Limits.Conversation, MaxGroup: min(c.Limits.Group, lines-1),
		Admit: c.waited, Decode: c.decodeLine,
	}
	return c.pump(s)
}

// decodeLine decodes a line of a stream in the tenant's turn. An invalid line delays the
// tenant's next ones.
func (c *call) decodeLine(ctx context.Context, f func() error) error {
	took, err := c.Scheduler.Decode(ctx, c.tenant, f)
	if err != nil {
		c.Scheduler.Wasted(c.tenant, took)
	}
	return err
}

// lines is the largest number of lines of a stream that are read but not answered.
const lines = 4096

// pump runs a stream.
func (c *call) pump(s *scoring.Stream) error {
	// Interrupting a read may cancel the request's context, so the stream uses its own.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.r.Context()))
	defer cancel(nil)
	in := &lineBody{patient: patient{c}, ctx: ctx, left: cancel}
	defer in.forget()
	if c.r.ProtoMajor > 1 {
		in.watch()
	}
	s.Interrupt = in.interrupt
	defer c.streaming(c, in.end)()
	ctx, span := c.tracer.Start(ctx, "evaluate")
	defer span.End()
	c.w.Header().Set("Content-Type", typeNDJSON)
	c.w.Header().Set("X-Content-Type-Options", "nosniff")
	c.w.Header().Set("Trailer", "Merit-Outcomes, Merit-Warnings")
	out := newPrinter(c)
	if c.r.Header.Get("Expect") == "" { // the response would replace 100 Continue
		c.w.WriteHeader(http.StatusOK)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	summary, err := s.Do(ctx, in, out)
	c.w.Header().Set("Merit-Outcomes", spelled(summary.Outcomes))
	c.warn(s.Doubts)
	span.SetAttributes(attribute.Int("merit.trajectories", summary.Trajectories), attribute.String("merit.outcomes", spelled(summary.Outcomes)))
	if err == nil {
		return out.close()
	}
	if ctx.Err() == nil && out.failed == nil {
		out.last(summary.Trajectories+summary.Skipped.Count, err)
		c.disconnect()
		sent := out.close()
		c.told = sent == nil
		return errors.Join(err, sent)
	}
	return err
}

// disconnect closes the connection after the response, once the client has had time to read it,
// so that the rest of the body is not mistaken for a request.
func (c *call) disconnect() {
	w := http.ResponseWriter(c.w)
	for inner, ok := w, true; ok; {
		w = inner
		var outer interface{ Unwrap() http.ResponseWriter }
		if outer, ok = w.(interface{ Unwrap() http.ResponseWriter }); ok {
			inner = outer.Unwrap()
		}
	}
	// Exceeding http.MaxBytesReader makes net/http do this.
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("xx")), 0).Read(make([]byte, 1))
}

// lineBody is the body of a stream. Its reading can be stopped from outside.
type lineBody struct {
	patient
	ctx     context.Context         // the stream's context
	left    context.CancelCauseFunc // cancels it because the client left
	stopped atomic.Bool             // reading has stopped
	ends    atomic.Bool             // the reason is that the server is shutting down
	watched func() bool
}

// watch cancels the stream when the request's context is canceled because the client left. In
// HTTP/1.1 every failed read also cancels that context, so there watch is called only at the
// end of the body.
func (b *lineBody) watch() {
	if b.watched == nil {
		b.watched = context.AfterFunc(b.c.r.Context(), func() { b.left(context.Cause(b.c.r.Context())) })
	}
}

func (b *lineBody) forget() {
	if b.watched != nil {
		b.watched()
	}
}

// Read reads the body, or returns why reading has stopped.
func (b *lineBody) Read(to []byte) (int, error) {
	if err := b.c.tenant.Repay(b.ctx); err != nil { // pay for earlier input first
		return 0, err
	}
	n, err := b.read(to, &b.stopped)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.watch()
	case !errors.Is(err, os.ErrDeadlineExceeded): // the connection broke
		b.left(err)
	case b.ends.Load():
		return n, refuse(http.StatusServiceUnavailable, "", "the server is shutting down; it did not read the rest", "retry with the rest; another server may take its place")
	default:
		return n, b.c.cannotRead(err)
	}
	return n, err
}

func (b *lineBody) interrupt() {
	b.stopped.Store(true)
	_ = b.c.control.SetReadDeadline(time.Now())
}

func (b *lineBody) end() {
	b.ends.Store(true)
	b.interrupt()
}
