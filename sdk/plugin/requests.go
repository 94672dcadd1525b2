//go:build !wasip1

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

// requestPool runs the requests of one stream, each in its own goroutine, and
// sends each answer as soon as it is ready.
type requestPool struct {
	actor  *actor
	stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply]
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[uint64]context.CancelFunc

	sending sync.Mutex
	closed  bool // guarded by sending: the stream has ended
}

func newRequestPool(a *actor, stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply]) *requestPool {
	p := &requestPool{actor: a, stream: stream, open: make(map[uint64]context.CancelFunc)}
	p.ctx, p.cancel = context.WithCancel(stream.Context())
	return p
}

// handle starts a request, or cancels one.
func (p *requestPool) handle(m *pb.ActRequest) {
	if m.Cancel {
		p.mu.Lock()
		cancel := p.open[m.Id]
		p.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	limit := time.Duration(m.Timeout) * time.Millisecond
	if limit == 0 {
		limit = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	p.mu.Lock()
	p.open[m.Id] = cancel
	p.mu.Unlock()
	go p.answer(ctx, m)
}

// answer makes the decision and sends it. It also answers a canceled request,
// so that the host knows that its id is free.
func (p *requestPool) answer(ctx context.Context, m *pb.ActRequest) {
	request, err := wire.DecodeRequest(m, p.actor.setup)
	var decision Decision
	if err == nil {
		decision, err = p.actor.act(ctx, &request)
	}
	reply := wire.EncodeDecision(m.Id, &decision, p.actor.version.Load(), err)
	p.mu.Lock()
	p.open[m.Id]()
	delete(p.open, m.Id)
	p.mu.Unlock()
	p.send(reply)
}

// send sends one reply. If the stream has ended, its reader knows. Otherwise
// the reply is too large, and send reports that instead.
func (p *requestPool) send(m *pb.ActReply) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.closed {
		return
	}
	if err := p.stream.Send(m); err != nil {
		_ = p.stream.Send(&pb.ActReply{Id: m.Id, Fault: wire.EncodeFault(err)})
	}
}

// close cancels the open requests. It does not wait, because the author's code
// may hang.
func (p *requestPool) close() {
	p.cancel()
	p.sending.Lock()
	defer p.sending.Unlock()
	p.closed = true
}
