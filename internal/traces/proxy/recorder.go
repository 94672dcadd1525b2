package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
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
	sink     trace.Sink
	log      *slog.Logger
	patience time.Duration
	threads  *threads

	held                           atomic.Int64
	recorded, lost, passed, failed atomic.Uint64
	waiting                        atomic.Int64
	reason                         atomic.Pointer[string] // of the last loss

	mu      sync.RWMutex // closed is not set while a call is queued
	closed  bool
	queue   chan *call
	ended   chan struct{} // run has returned
	abandon context.CancelFunc
	life    context.Context
}

func newRecorder(o Options) *recorder {
	r := &recorder{sink: o.Sink, log: o.Log, patience: o.Patience, threads: newThreads(maxThreads), queue: make(chan *call, o.Queue), ended: make(chan struct{})}
	r.life, r.abandon = context.WithCancel(context.Background())
	return r
}

// Stats says how much was recorded.
func (r *recorder) Stats() Stats {
	s := Stats{Recorded: r.recorded.Load(), Lost: r.lost.Load(), Waiting: r.waiting.Load(), Passed: r.passed.Load(), Failed: r.failed.Load()}
	if reason := r.reason.Load(); reason != nil {
		s.Reason = *reason
	}
	return s
}

// end queues a call that is over, once, without waiting.
func (r *recorder) end(c *call, failure string) {
	if c.done.Swap(true) {
		return
	}
	c.ended, c.failure = time.Now(), failure
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case r.closed:
		r.lose(1, "the proxy was closed before the call ended")
	case c.lost:
		r.lose(1, "the bodies of calls under way take all the memory that is allowed")
	default:
		r.waiting.Add(1)
		select {
		case r.queue <- c:
			return
		default:
			r.waiting.Add(-1)
			r.lose(1, "the store is slower than the calls, and the queue is full")
		}
	}
	c.release()
}

// lose counts calls that are not recorded, and says so: the first, and each
// time that their number has doubled.
func (r *recorder) lose(n uint64, why string) {
	r.reason.Store(&why)
	all := r.lost.Add(n)
	if before := all - n; before == 0 || all&^before > before {
		r.log.Warn("calls were not recorded; the agents got their answers", "lost", all, "cause", why)
	}
}

// Close records what waits and ends the recorder, at the latest when ctx does:
// then the rest is lost and counted. No request is served any more.
func (r *recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	select {
	case <-r.ended:
	case <-ctx.Done():
		r.abandon()
		<-r.ended
	}
	r.abandon()
	if lost := r.lost.Load(); lost > 0 {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: "proxy", What: plural(lost, "call was", "calls were") + " not recorded: " + *r.reason.Load(),
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

// run records until the queue is closed and empty.
func (r *recorder) run() {
	defer close(r.ended)
	for c := range r.queue {
		b := batch{}
		b.add(r, c)
		for more := true; more && b.calls < batchCalls && b.bytes < batchBytes; {
			select {
			case next, ok := <-r.queue:
				if more = ok; ok {
					b.add(r, next)
				}
			default:
				more = false
			}
		}
		if b.calls > 0 {
			r.put(b)
		}
		r.waiting.Add(-int64(b.calls))
	}
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
			r.lose(1, fmt.Sprint("the call could not be read: ", bug))
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

// put gives a batch to the sink. A sink that fails is asked again for as long as
// it has patience; a batch that is refused is tried call by call.
func (r *recorder) put(b batch) {
	ctx, cancel := context.WithTimeout(r.life, r.patience)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := r.sink.Put(ctx, b.spans, b.about)
		if err == nil {
			r.recorded.Add(uint64(b.calls))
			return
		}
		if refused(err) && b.calls > 1 {
			r.oneByOne(b)
			return
		}
		select {
		case <-time.After(pause):
			if !refused(err) {
				continue
			}
		case <-ctx.Done():
		}
		r.lose(uint64(b.calls), err.Error())
		return
	}
}

func (r *recorder) oneByOne(b batch) {
	from := 0
	for i, to := range b.each {
		r.put(batch{spans: b.spans[from:to], about: b.about[i : i+1], calls: 1})
		from = to
	}
}

// refused reports whether the same would fail again.
func refused(err error) bool { return errors.Is(err, fault.Of("", fault.Invalid)) }
