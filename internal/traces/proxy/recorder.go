package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
	"github.com/merit-rl/merit/internal/traces/proxy/lineage"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/traces/trace/outbox"
	"github.com/merit-rl/merit/internal/traces/trace/tally"
)

// Stats counts calls since the start.
type Stats struct {
	Recorded uint64 `json:"recorded"` // stored in the sink
	Lost     uint64 `json:"lost"`     // passed through, but not recorded
	Waiting  int64  `json:"waiting"`  // not yet recorded
	Passed   uint64 `json:"passed"`   // other requests, which are never recorded
	Failed   uint64 `json:"failed"`   // recorded calls without a complete answer
	Reason   string `json:"reason,omitempty"`

	Cut     uint64            `json:"cut"`               // recorded without a body that exceeded the limit
	Reasons map[string]uint64 `json:"reasons,omitempty"` // of lost and cut calls

	// Unknown counts the parts of messages of types that Merit does not know, by type. They
	// are recorded unchanged.
	Unknown map[string]uint64 `json:"unknown_blocks,omitempty"`
}

// recorder converts calls to spans in the order in which they ended, on a separate
// goroutine.
type recorder struct {
	sink    trace.Sink
	queue   *outbox.Queue[*call]
	tree    *lineage.Tree
	cut     tally.Tally
	unknown tally.Tally

	held, waiting            atomic.Int64
	recorded, passed, failed atomic.Uint64
}

func newRecorder(o Options) *recorder {
	r := &recorder{sink: o.Sink, tree: lineage.New(lineage.Most, func() string { return newID(16) })}
	r.cut.Log, r.cut.Message = o.Log, "calls were recorded without a body"
	r.unknown.Log, r.unknown.Message = o.Log, "messages have parts of an unknown type, which are kept unchanged"
	r.queue = outbox.New(outbox.Options{
		Queue: o.Queue, Patience: o.Patience, Log: o.Log, Lost: "calls were not recorded; the agents received their answers",
		Closed: "the proxy was closed before the call ended", Full: "the queue is full because the store is too slow",
	}, r.send)
	return r
}

// Stats returns the counts so far.
func (r *recorder) Stats() Stats {
	s := Stats{Recorded: r.recorded.Load(), Waiting: r.waiting.Load(), Passed: r.passed.Load(), Failed: r.failed.Load()}
	s.Lost, s.Reason = r.queue.Lost()
	s.Cut, _ = r.cut.Count()
	s.Reasons, s.Unknown = r.queue.Reasons(), r.unknown.Reasons()
	for why, n := range r.cut.Reasons() {
		if s.Reasons == nil {
			s.Reasons = map[string]uint64{}
		}
		s.Reasons[why] = n
	}
	return s
}

// end queues a finished call once, without blocking.
func (r *recorder) end(c *call, failure string) {
	if c.done.Swap(true) {
		return
	}
	c.ended, c.failure = time.Now(), failure
	if c.lost {
		r.queue.Lose(1, "the bodies of calls in progress use all of the allowed memory")
	} else {
		r.waiting.Add(1)
		if r.queue.Put(c) {
			return
		}
		r.waiting.Add(-1)
	}
	c.release()
}

// Close records queued calls and stops the recorder. When ctx is done, it drops and
// counts the rest. Call it after the last request.
func (r *recorder) Close(ctx context.Context) error {
	r.queue.Close(ctx)
	if lost, why := r.queue.Lost(); lost > 0 {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: "proxy", What: plural(lost, "call was", "calls were") + " not recorded: " + why,
			Hint: "check that the store works and is fast enough; the agents received their answers",
		}
	}
	return nil
}

// Limits of a batch for the sink.
const (
	batchCalls = 128
	batchBytes = 8 << 20
)

// send records a call together with those queued behind it.
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
	// Untrusted bytes may trigger a bug in the parser. A panic must not stop the
	// proxy, because agents depend on it.
	defer func() {
		if bug := recover(); bug != nil {
			r.waiting.Add(-1)
			r.queue.Lose(1, fmt.Sprint("a bug prevented reading the call: ", bug))
		}
		c.release()
	}()
	b.bytes += c.held
	spans, about := record(r.tree, c)
	if c.partly != "" {
		r.cut.Add(1, c.partly, "trace", about.Trace, "span", c.span)
	}
	var unknown dialect.Unknown
	_ = strictjson.Unmarshal(spans[0].Attributes["unknown_blocks"], &unknown) // none without it
	for kind, n := range unknown {
		r.unknown.Add(uint64(n), kind, "trace", about.Trace, "span", c.span)
	}
	if spans[0].Status == trace.StatusError {
		r.failed.Add(1)
	}
	b.spans, b.about, b.calls = append(b.spans, spans...), append(b.about, about), b.calls+1
	b.each = append(b.each, len(b.spans))
}

// put sends a batch to the sink. If the sink refuses it, put retries call by call.
func (r *recorder) put(b batch) {
	err := r.queue.Deliver(func(ctx context.Context) error { return r.sink.Put(ctx, b.spans, b.about) }, refused)
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
		r.queue.Lose(uint64(b.calls), err.Error())
	}
}

// refused reports whether a retry would fail as well.
func refused(err error) bool { return errors.Is(err, fault.Of("", fault.Invalid)) }
