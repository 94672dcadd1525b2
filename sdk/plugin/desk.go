package plugin

import (
	"context"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// desk hands the requests of one stream to the policy, each in a goroutine of
// its own, and sends each answer as soon as it is there.
type desk struct {
	actor  *actor
	stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply]
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[uint64]context.CancelFunc

	sending sync.Mutex
	closed  bool // under sending: the stream is over
}

func newDesk(a *actor, stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply]) *desk {
	d := &desk{actor: a, stream: stream, open: make(map[uint64]context.CancelFunc)}
	d.ctx, d.cancel = context.WithCancel(stream.Context())
	return d
}

// take begins a request, or takes one back.
func (d *desk) take(m *pb.ActRequest) {
	if m.Cancel {
		d.mu.Lock()
		cancel := d.open[m.Id]
		d.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	limit := time.Duration(m.Timeout) * time.Millisecond
	if limit == 0 {
		limit = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(d.ctx, limit)
	d.mu.Lock()
	d.open[m.Id] = cancel
	d.mu.Unlock()
	go d.answer(ctx, m)
}

// answer makes the decision. One that was taken back is answered all the same:
// the host then knows that its id is done with.
func (d *desk) answer(ctx context.Context, m *pb.ActRequest) {
	request, err := wire.DecodeRequest(m, d.actor.setup)
	var decision Decision
	if err == nil {
		decision, err = d.actor.act(ctx, &request)
	}
	reply := wire.EncodeDecision(m.Id, &decision, d.actor.version.Load(), err)
	d.mu.Lock()
	d.open[m.Id]()
	delete(d.open, m.Id)
	d.mu.Unlock()
	d.send(reply)
}

// send writes one reply. That a stream is over, its reader knows; what remains
// is a reply too large to be sent.
func (d *desk) send(m *pb.ActReply) {
	d.sending.Lock()
	defer d.sending.Unlock()
	if d.closed {
		return
	}
	if err := d.stream.Send(m); err != nil {
		_ = d.stream.Send(&pb.ActReply{Id: m.Id, Fault: wire.EncodeFault(err)})
	}
}

// close cancels what is open. It does not wait: an author's code may be stuck.
func (d *desk) close() {
	d.cancel()
	d.sending.Lock()
	defer d.sending.Unlock()
	d.closed = true
}
