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

// mostTaken is how many requests that were taken back are remembered while the
// plug-in has not answered them.
const mostTaken = 1 << 16

// line is the stream of requests to one process of a policy. Any number of
// goroutines ask; one writes, one reads. Nobody waits for another's answer, nor
// for a plug-in that does not read.
type line struct {
	session  *session
	rpc      pb.PolicyClient
	stream   grpc.BidiStreamingClient[pb.ActRequest, pb.ActReply]
	cancel   context.CancelFunc // of the stream
	answered atomic.Bool        // the process has been of use

	mu     sync.Mutex
	last   uint64
	open   map[uint64]chan *pb.ActReply
	taken  map[uint64]struct{} // ids that nobody waits for, and may be answered still
	before uint64              // ids up to here may be, too
	queue  []*pb.ActRequest
	wake   chan struct{} // a signal for the writer
	ended  error         // why there is no process any longer
	over   chan struct{} // closed then
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

// request is one that waits for its answer.
type request struct {
	id    uint64
	reply chan *pb.ActReply // closed if the process ends first
	err   error             // why it was not sent
}

// ask queues a request for a decision on o.
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

// wait returns the answer of r, or why there is none.
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
	case m, ok := <-r.reply: // while another request was waited for
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

// takeBack tells the plug-in that nobody waits for the answer of id, or takes
// it out of the queue if the plug-in does not know of it.
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

// write sends what is queued until the line is over. What ends a stream, its
// reader knows.
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

// read delivers answers until there are no more, and says why.
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
		Hint: "the plug-in answers twice or makes up requests; ask its author",
	}
}

// end fails all that is open.
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

// hideFault takes secrets out of what a plug-in says.
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

// hideReply takes secrets out of the errors of a reply.
func hideReply(r *strings.Replacer, m *pb.BatchReply) {
	hideFault(r, m.Fault)
	for _, e := range m.Events {
		if e.Kind == string(env.EventError) {
			e.Message = r.Replace(e.Message)
		}
	}
}
