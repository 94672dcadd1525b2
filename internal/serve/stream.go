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

// stream answers an evaluation whose trajectories come one a line, each with
// its result while the next ones come.
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
	// HTTP/2 is full duplex anyway, and a recorder has the whole body.
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

// decodeLine decodes a line of a stream in the tenant's turn: one that is refused
// delays the next ones.
func (c *call) decodeLine(ctx context.Context, f func() error) error {
	took, err := c.Scheduler.Decode(ctx, c.tenant, f)
	if err != nil {
		c.Scheduler.Wasted(c.tenant, took)
	}
	return err
}

// lines is how many lines of a stream may be read and not answered.
const lines = 4096

// pump runs a stream.
func (c *call) pump(s *scoring.Stream) error {
	// A read that is interrupted may end the request's own context, too, so that
	// the stream has one of its own.
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
	if c.r.Header.Get("Expect") == "" { // the answer would come in place of 100 Continue
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

// disconnect has the connection closed behind the answer, once the client had
// time to read it: what is left of the body must not be taken for a request.
func (c *call) disconnect() {
	w := http.ResponseWriter(c.w)
	for inner, ok := w, true; ok; {
		w = inner
		var outer interface{ Unwrap() http.ResponseWriter }
		if outer, ok = w.(interface{ Unwrap() http.ResponseWriter }); ok {
			inner = outer.Unwrap()
		}
	}
	// A body that is too large is what net/http does this for.
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("xx")), 0).Read(make([]byte, 1))
}

// lineBody is the body of a stream, which may be ended from outside.
type lineBody struct {
	patient
	ctx     context.Context         // of the stream
	left    context.CancelCauseFunc // the client is gone
	stopped atomic.Bool             // no more is read
	ends    atomic.Bool             // because the server ends
	watched func() bool
}

// watch notices a client that leaves by the request's context. HTTP/1.1 ends
// that for every read that fails, so that there the end of the body comes first.
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

// Read reads, or says why nothing more is read.
func (b *lineBody) Read(to []byte) (int, error) {
	if err := b.c.tenant.Repay(b.ctx); err != nil { // what it has sent comes before what it sends
		return 0, err
	}
	n, err := b.read(to, &b.stopped)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.watch()
	case !errors.Is(err, os.ErrDeadlineExceeded): // broken off: a client that died
		b.left(err)
	case b.ends.Load():
		return n, refuse(http.StatusServiceUnavailable, "", "the server ends: what follows was not read", "send the rest again, to the server that takes its place")
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
