package trace

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Stats counts spans since the start.
type Stats struct {
	Sent   uint64 // the sink has them
	Lost   uint64 // they were not recorded
	Reason string // of the last loss
}

// outbox sends what is recorded, in its order, from one goroutine.
type outbox struct {
	sink       trace.Sink
	log        *slog.Logger
	queue      chan item
	mu         sync.RWMutex // closed is not set while something is queued
	closed     bool
	ended      chan struct{}
	life       context.Context
	abandon    context.CancelFunc
	sent, lost atomic.Uint64
	reason     atomic.Pointer[string]
}

// item is a span, what is said of a trace, or somebody who waits until
// everything before is sent.
type item struct {
	span  *trace.Span
	about *trace.About
	flush chan struct{}
}

const (
	batchSpans = 256
	patience   = 30 * time.Second // with a sink that fails
)

func newOutbox(sink trace.Sink, queue int, log *slog.Logger) *outbox {
	o := &outbox{sink: sink, log: log, queue: make(chan item, queue), ended: make(chan struct{})}
	o.life, o.abandon = context.WithCancel(context.Background())
	go o.run()
	return o
}

// Stats says how much was sent and lost. Of a tracer that is off it is zero.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	s := Stats{Sent: t.sent.Load(), Lost: t.lost.Load()}
	if reason := t.reason.Load(); reason != nil {
		s.Reason = *reason
	}
	return s
}

func (o *outbox) send(s trace.Span) {
	if err := s.Check(); err != nil { // else the sink would refuse its neighbours too
		o.lose(1, err.Error())
		return
	}
	o.put(item{span: &s})
}

func (o *outbox) sendAbout(a trace.About) {
	if err := a.Check(); err != nil {
		o.lose(1, err.Error())
		return
	}
	o.put(item{about: &a})
}

func (o *outbox) put(i item) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		o.lose(1, "the tracer was closed before")
		return
	}
	select {
	case o.queue <- i:
	default:
		o.lose(1, "spans come faster than they can be sent, and the queue is full")
	}
}

func (o *outbox) lose(n uint64, why string) {
	o.reason.Store(&why)
	if o.lost.Add(n) == n {
		o.log.Warn("spans were not recorded", "cause", why)
	}
}

// Flush waits until all that was recorded before is with the sink, or lost.
func (t *Tracer) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	done := make(chan struct{})
	t.mu.RLock()
	if t.closed {
		t.mu.RUnlock()
		return nil
	}
	select {
	case t.queue <- item{flush: done}:
	case <-ctx.Done():
	}
	t.mu.RUnlock()
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
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.queue)
	}
	t.mu.Unlock()
	select {
	case <-t.ended:
	case <-ctx.Done():
		t.abandon()
		<-t.ended
	}
	t.abandon()
	if s := t.Stats(); s.Lost > 0 {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: "tracer", What: fmt.Sprintf("%d spans were not recorded: %s", s.Lost, s.Reason),
			Hint: "the agent did not notice; see that merit collect runs where MERIT_COLLECT says",
		}
	}
	return nil
}

func (o *outbox) run() {
	defer close(o.ended)
	for i := range o.queue {
		var spans []trace.Span
		var about []trace.About
		var waits []chan struct{}
		for more := true; more; {
			switch {
			case i.span != nil:
				spans = append(spans, *i.span)
			case i.about != nil:
				about = append(about, *i.about)
			default:
				waits = append(waits, i.flush)
			}
			if more = len(spans)+len(about) < batchSpans; more {
				select {
				case i, more = <-o.queue:
				default:
					more = false
				}
			}
		}
		o.deliver(spans, about)
		for _, w := range waits {
			close(w)
		}
	}
}

func (o *outbox) deliver(spans []trace.Span, about []trace.About) {
	n := uint64(len(spans) + len(about))
	if n == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(o.life, patience)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := o.sink.Put(ctx, spans, about)
		if err == nil {
			o.sent.Add(n)
			return
		}
		f := fault.As(err)
		final := f != nil && (f.Kind == fault.Invalid || f.Kind == fault.Refused)
		if !final {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		o.lose(n, err.Error())
		return
	}
}
