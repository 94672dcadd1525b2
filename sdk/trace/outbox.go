package trace

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/traces/trace/outbox"
)

// Stats counts spans since the start.
type Stats struct {
	Sent   uint64 // the sink has them
	Lost   uint64 // they were not recorded
	Reason string // of the last loss
}

// sending sends what is recorded, in its order, from one goroutine.
type sending struct {
	sink trace.Sink
	box  *outbox.Box[item]
	sent atomic.Uint64
}

// item is a span, what is said of a trace, or somebody who waits until
// everything before is sent.
type item struct {
	span  *trace.Span
	about *trace.About
	flush chan struct{}
}

const batchSpans = 256

func newSending(sink trace.Sink, queue int, log *slog.Logger) *sending {
	s := &sending{sink: sink}
	s.box = outbox.New(outbox.Options{
		Queue: queue, Patience: 30 * time.Second, Log: log, Lost: "spans were not recorded",
		Closed: "the tracer was closed before", Full: "spans come faster than they can be sent, and the queue is full",
	}, s.deliver)
	return s
}

// Stats says how much was sent and lost. Of a tracer that is off it is zero.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	s := Stats{Sent: t.sent.Load()}
	s.Lost, s.Reason = t.box.Lost()
	return s
}

// put queues what is fit to be kept: else the sink would refuse its neighbours too.
func (o *sending) put(i item, check func() error) {
	if err := check(); err != nil {
		o.box.Lose(1, err.Error())
		return
	}
	o.box.Put(i)
}

func (o *sending) send(s trace.Span) { o.put(item{span: &s}, s.Check) }

func (o *sending) sendAbout(a trace.About) { o.put(item{about: &a}, a.Check) }

// Flush waits until all that was recorded before is with the sink, or lost.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	done := make(chan struct{})
	switch err := t.box.Wait(ctx, item{flush: done}); err {
	case nil:
	case outbox.ErrClosed:
		return nil
	default:
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close sends what waits, at the latest until ctx ends: then the rest is lost.
// The error says whether anything was.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.box.Close(ctx)
	if s := t.Stats(); s.Lost > 0 {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: "tracer", What: fmt.Sprintf("%d spans were not recorded: %s", s.Lost, s.Reason),
			Hint: "the agent did not notice; see that merit traces collect runs where MERIT_COLLECT says",
		}
	}
	return nil
}

// deliver gives the sink what came first with what waits behind it.
func (o *sending) deliver(_ context.Context, i item, more func() (item, bool)) {
	var spans []trace.Span
	var about []trace.About
	for ok := true; ok; {
		switch {
		case i.span != nil:
			spans = append(spans, *i.span)
		case i.about != nil:
			about = append(about, *i.about)
		default:
			defer close(i.flush)
		}
		if ok = len(spans)+len(about) < batchSpans; ok {
			i, ok = more()
		}
	}
	n := uint64(len(spans) + len(about))
	if n == 0 {
		return
	}
	err := o.box.Deliver(func(ctx context.Context) error { return o.sink.Put(ctx, spans, about) }, func(err error) bool {
		f := fault.As(err)
		return f != nil && (f.Kind == fault.Invalid || f.Kind == fault.Refused)
	})
	if err != nil {
		o.box.Lose(n, err.Error())
		return
	}
	o.sent.Add(n)
}
