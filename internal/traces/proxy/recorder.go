package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/traces/trace/outbox"
)

// Stats counts calls since the start.
type Stats struct {
	Recorded uint64 `json:"recorded"` // the sink has them
	Lost     uint64 `json:"lost"`     // they passed through, and are not recorded
	Waiting  int64  `json:"waiting"`  // to be recorded
	Passed   uint64 `json:"passed"`   // requests of other kinds, which are never recorded
	Failed   uint64 `json:"failed"`   // of those recorded: without a whole answer
	Reason   string `json:"reason,omitempty"`
}

// recorder turns calls into spans, in the order of their ends, one after
// another and apart from those who call.
type recorder struct {
	sink    trace.Sink
	box     *outbox.Box[*call]
	threads *threads

	held, waiting            atomic.Int64
	recorded, passed, failed atomic.Uint64
}

func newRecorder(o Options) *recorder {
	r := &recorder{sink: o.Sink, threads: newThreads(maxThreads)}
	r.box = outbox.New(outbox.Options{
		Queue: o.Queue, Patience: o.Patience, Log: o.Log, Lost: "calls were not recorded; the agents got their answers",
		Closed: "the proxy was closed before the call ended", Full: "the store is slower than the calls, and the queue is full",
	}, r.send)
	return r
}

// Stats says how much was recorded.
func (r *recorder) Stats() Stats {
	s := Stats{Recorded: r.recorded.Load(), Waiting: r.waiting.Load(), Passed: r.passed.Load(), Failed: r.failed.Load()}
	s.Lost, s.Reason = r.box.Lost()
	return s
}

// end queues a call that is over, once, without waiting.
func (r *recorder) end(c *call, failure string) {
	if c.done.Swap(true) {
		return
	}
	c.ended, c.failure = time.Now(), failure
	if c.lost {
		r.box.Lose(1, "the bodies of calls under way take all the memory that is allowed")
	} else {
		r.waiting.Add(1)
		if r.box.Put(c) {
			return
		}
		r.waiting.Add(-1)
	}
	c.release()
}

// Close records what waits and ends the recorder, at the latest when ctx does:
// then the rest is lost and counted. No request is served any more.
func (r *recorder) Close(ctx context.Context) error {
	r.box.Close(ctx)
	if lost, why := r.box.Lost(); lost > 0 {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: "proxy", What: plural(lost, "call was", "calls were") + " not recorded: " + why,
			Hint: "the agents got their answers; look at the store, or give the proxy more memory",
		}
	}
	return nil
}

// A batch is what the sink gets at one time.
const (
	batchCalls = 128
	batchBytes = 8 << 20
)

// send records a call and those that wait behind it.
func (r *recorder) send(_ context.Context, c *call, more func() (*call, bool)) {
	b := batch{}
	b.add(r, c)
	for b.calls < batchCalls && b.bytes < batchBytes {
		next, ok := more()
		if !ok {
			break
		}
		b.add(r, next)
	}
	if b.calls > 0 {
		r.put(b)
	}
	r.waiting.Add(-int64(b.calls))
}

type batch struct {
	spans []trace.Span
	about []trace.About
	calls int
	bytes int64
	each  []int // where the spans of each call end
}

func (b *batch) add(r *recorder, c *call) {
	// What the bytes of strangers may do to the reader of them must not end the
	// proxy, on which agents stand.
	defer func() {
		if bug := recover(); bug != nil {
			r.waiting.Add(-1)
			r.box.Lose(1, fmt.Sprint("the call could not be read: ", bug))
		}
		c.release()
	}()
	b.bytes += c.held
	spans, about := r.threads.record(c)
	if spans[0].Status == trace.StatusError {
		r.failed.Add(1)
	}
	b.spans, b.about, b.calls = append(b.spans, spans...), append(b.about, about), b.calls+1
	b.each = append(b.each, len(b.spans))
}

// put gives a batch to the sink. A batch that is refused is tried call by call.
func (r *recorder) put(b batch) {
	err := r.box.Deliver(func(ctx context.Context) error { return r.sink.Put(ctx, b.spans, b.about) }, refused)
	switch {
	case err == nil:
		r.recorded.Add(uint64(b.calls))
	case refused(err) && b.calls > 1:
		from := 0
		for i, to := range b.each {
			r.put(batch{spans: b.spans[from:to], about: b.about[i : i+1], calls: 1})
			from = to
		}
	default:
		r.box.Lose(uint64(b.calls), err.Error())
	}
}

// refused reports whether the same would fail again.
func refused(err error) bool { return errors.Is(err, fault.Of("", fault.Invalid)) }
