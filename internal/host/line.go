package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// mostTaken is how many canceled requests the host remembers while the plug-in has not
// answered them.
const mostTaken = 1 << 16

// line is the stream of requests to one policy process. Any number of goroutines send
// requests; one goroutine writes and one reads. No caller waits for another caller's
// reply, nor for a plug-in that does not read.
type line struct {
	session  *session
	rpc      pb.PolicyClient
	stream   grpc.BidiStreamingClient[pb.ActRequest, pb.ActReply]
	cancel   context.CancelFunc // of the stream
	answered atomic.Bool        // the process has answered at least one request

	mu     sync.Mutex
	last   uint64
	open   map[uint64]chan *pb.ActReply
	taken  map[uint64]struct{} // ids of canceled requests that the plug-in may still answer
	before uint64              // canceled ids up to this one may still be answered, too
	queue  []*pb.ActRequest
	wake   chan struct{} // wakes the writer
	ended  error         // why the process is gone; nil while it runs
	over   chan struct{} // closed when ended is set
}

// newLine opens the stream. The caller runs write and read.
func newLine(s *session) (*line, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &line{
		session: s, rpc: pb.NewPolicyClient(s.conn), cancel: cancel,
		open: make(map[uint64]chan *pb.ActReply), taken: make(map[uint64]struct{}),
		wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	var err error
	if l.stream, err = l.rpc.Act(ctx); err != nil {
		cancel()
		return nil, err
	}
	return l, nil
}

// request is a request that waits for its reply.
type request struct {
	id    uint64
	reply chan *pb.ActReply // closed if the process exits first
	err   error             // why it was not sent
}

// ask queues a request for a decision about o.
func (l *line) ask(ctx context.Context, o *policy.Observation) request {
	var limit time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), time.Millisecond)
	}
	m, err := wire.EncodeRequest(o, limit)
	if err != nil {
		return request{err: err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return request{err: l.ended}
	}
	l.last++
	m.Id = l.last
	r := request{id: m.Id, reply: make(chan *pb.ActReply, 1)}
	l.open[r.id] = r.reply
	l.put(m)
	return r
}

// put queues a message for the writer; l.mu is held.
func (l *line) put(m *pb.ActRequest) {
	l.queue = append(l.queue, m)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// wait returns the reply to r, or the error that prevented it.
func (l *line) wait(ctx context.Context, r request) (*pb.ActReply, error) {
	if r.err != nil {
		return nil, r.err
	}
	select {
	case m, ok := <-r.reply:
		return l.answer(m, ok)
	case <-ctx.Done():
	}
	select {
	case m, ok := <-r.reply: // arrived while the caller waited for another request
		return l.answer(m, ok)
	default:
		l.takeBack(r.id)
		return nil, ctx.Err()
	}
}

func (l *line) answer(m *pb.ActReply, ok bool) (*pb.ActReply, error) {
	if !ok {
		return nil, l.ended
	}
	return m, nil
}

// takeBack tells the plug-in that the reply to id is no longer needed. If the request
// is still in the queue, takeBack removes it instead.
func (l *line) takeBack(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, waits := l.open[id]; !waits || l.ended != nil {
		return
	}
	delete(l.open, id)
	if i := slices.IndexFunc(l.queue, func(m *pb.ActRequest) bool { return m.Id == id }); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		return
	}
	if len(l.taken) == mostTaken {
		clear(l.taken)
		l.before = l.last
	}
	l.taken[id] = struct{}{}
	l.put(&pb.ActRequest{Id: id, Cancel: true})
}

// write sends queued requests until the line ends. It ignores send errors: read returns
// why the stream broke.
func (l *line) write() {
	for {
		l.mu.Lock()
		batch := l.queue
		l.queue = nil
		l.mu.Unlock()
		for _, m := range batch {
			if l.stream.Send(m) != nil {
				return
			}
		}
		select {
		case <-l.wake:
		case <-l.over:
			return
		}
	}
}

// read delivers replies until the stream ends, and returns why it ended.
func (l *line) read() error {
	for {
		m, err := l.stream.Recv()
		if err != nil {
			return err
		}
		if err := l.deliver(m); err != nil {
			return err
		}
	}
}

func (l *line) deliver(m *pb.ActReply) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reply, ok := l.open[m.Id]; ok {
		delete(l.open, m.Id)
		l.answered.Store(true)
		reply <- m
		return nil
	}
	if _, ok := l.taken[m.Id]; ok || m.Id <= l.before && m.Id > 0 {
		delete(l.taken, m.Id)
		return nil
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: "id",
		What: fmt.Sprintf("an answer to request %d, which is not open", m.Id),
		Hint: "ask the plug-in's author to correct it: it answers twice, or answers requests that were never sent",
	}
}

// end fails all open requests.
func (l *line) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return
	}
	l.ended = err
	for _, reply := range l.open {
		close(reply)
	}
	l.open, l.queue = nil, nil
	l.cancel()
	close(l.over)
}

// hideFault replaces secrets in a fault that a plug-in returned.
func hideFault(r *strings.Replacer, m *pb.Fault) {
	if r == nil || m == nil {
		return
	}
	m.Where, m.What, m.Hint = r.Replace(m.Where), r.Replace(m.What), r.Replace(m.Hint)
	hideFault(r, m.Cause)
	for _, f := range m.All {
		hideFault(r, f)
	}
}

// hideReply replaces secrets in the errors of a reply.
func hideReply(r *strings.Replacer, m *pb.BatchReply) {
	hideFault(r, m.Fault)
	for _, e := range m.Events {
		if e.Kind == string(env.EventError) {
			e.Message = r.Replace(e.Message)
		}
	}
}
