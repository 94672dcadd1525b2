//go:build !wasip1

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/lane"
	pb "github.com/merit-rl/merit/internal/wire/proto"
	"github.com/merit-rl/merit/sdk/plugin/internal/track"
)

// server serves an environment to the host. It calls the environment only while
// it holds the lock.
type server struct {
	pb.UnimplementedEnvironmentServer
	*greeter
	open func(Setup, json.RawMessage) (env.Env, error)

	mu      sync.Mutex
	current env.Env
	tracker track.Tracker // of the current batch
	lane    *lane.Conn    // nil if batches arrive through Run
}

// stream is the source of batches: Run, or a lane.
type stream interface {
	RecvMsg(m any) error
	SendMsg(m any) error
}

var errUnconfigured = status.Error(codes.FailedPrecondition, "Configure must be called first")

// Describe implements the RPC.
func (s *server) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	return s.describe(), nil
}

// Configure implements the RPC.
func (s *server) Configure(_ context.Context, m *pb.ConfigureRequest) (*pb.ConfigureReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := wire.DecodeConfiguration(m)
	if err != nil {
		return wire.EncodeSpec(Spec{}, err), nil
	}
	if s.current != nil {
		if err := s.current.Close(); err != nil {
			return wire.EncodeSpec(Spec{}, err), nil
		}
		s.current = nil
	}
	e, err := s.open(Setup{Slots: c.Slots, Split: c.Split}, c.Options)
	if err != nil {
		return wire.EncodeSpec(Spec{}, err), nil
	}
	if v, ok := e.(*slots); ok {
		v.tracker = &s.tracker
	}
	s.current = e
	reply := wire.EncodeSpec(e.Spec(), nil)
	reply.Lane = s.openLane(m.Lane)
	return reply, nil
}

// openLane connects to the lane that the host offers, which replaces the
// previous lane. If there is no offer or the connection fails, batches arrive
// through Run.
func (s *server) openLane(offer string) bool {
	if s.lane != nil {
		_ = s.lane.Close()
		s.lane = nil
	}
	if offer == "" {
		return false
	}
	l, err := lane.Dial(offer)
	if err != nil {
		return false
	}
	s.lane = l
	go func() {
		_ = s.run(context.Background(), l) // the host sees errors of the lane at its own end
		_ = l.Close()
	}()
	return true
}

// Run implements the RPC.
func (s *server) Run(stream grpc.BidiStreamingServer[pb.Batch, pb.BatchReply]) error {
	return s.run(stream.Context(), stream)
}

// run answers batches until the stream ends. It reuses messages and columns: a
// batch that arrives proves that the host has read the previous reply.
func (s *server) run(ctx context.Context, stream stream) error {
	var (
		in    pb.Batch
		out   pb.BatchReply
		batch env.Batch
		reply env.Reply
	)
	for {
		if err := stream.RecvMsg(&in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.exchange(ctx, &in, &out, &batch, &reply); err != nil {
			return err
		}
		if err := stream.SendMsg(&out); err != nil {
			return err
		}
	}
}

func (s *server) exchange(ctx context.Context, in *pb.Batch, out *pb.BatchReply, batch *env.Batch, reply *env.Reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return errUnconfigured
	}
	spec := s.current.Spec()
	err := wire.DecodeBatch(in, batch, spec)
	if err == nil {
		s.tracker.Enter(track.Together)
		err = s.current.Exchange(ctx, batch, reply)
		s.tracker.Leave()
	}
	if err == nil {
		err = wire.EncodeReply(out, in.Seq, reply, batch.Want, spec)
	}
	if err != nil {
		out.Reset()
		out.Seq, out.Fault = in.Seq, wire.EncodeFault(err)
	}
	return nil
}

// Render implements the RPC.
func (s *server) Render(ctx context.Context, m *pb.RenderRequest) (*pb.RenderReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, errUnconfigured
	}
	r, ok := s.current.(env.Renderer)
	if !ok {
		return wire.EncodeRender("", errNoPicture), nil
	}
	text, err := r.Render(ctx, int(m.Slot))
	return wire.EncodeRender(text, err), nil
}

// Snapshot implements the RPC.
func (s *server) Snapshot(ctx context.Context, m *pb.SnapshotRequest) (*pb.SnapshotReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.snapshotter()
	if err != nil {
		return nil, err
	}
	return wire.EncodeSnapshot(e.Snapshot(ctx, int(m.Slot))), nil
}

// Restore implements the RPC.
func (s *server) Restore(ctx context.Context, m *pb.RestoreRequest) (*pb.RestoreReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.snapshotter()
	if err != nil {
		return nil, err
	}
	return wire.EncodeRestore(e.Restore(ctx, int(m.Slot), m.State)), nil
}

// snapshotter returns the environment if its spec says that it has snapshots.
func (s *server) snapshotter() (env.Snapshotter, error) {
	if s.current == nil {
		return nil, errUnconfigured
	}
	if e, ok := s.current.(env.Snapshotter); ok && s.current.Spec().Snapshots {
		return e, nil
	}
	return nil, status.Error(codes.Unimplemented, "the environment does not support snapshots")
}

// Encode implements the RPC.
func (s *server) Encode(ctx context.Context, m *pb.EncodeRequest) (*pb.EncodeReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, errUnconfigured
	}
	e, ok := s.current.(env.Encoder)
	if spec := s.current.Spec(); ok && spec.Encodes {
		var reply env.Reply
		action, err := e.Encode(ctx, m.Messages, m.Answer, &reply)
		return wire.EncodeEncoding(&reply, action, spec, err), nil
	}
	return nil, status.Error(codes.Unimplemented, errNoEncoder.Error())
}

// Where implements the RPC. It does not take the lock, which a batch holds.
func (s *server) Where(context.Context, *pb.WhereRequest) (*pb.WhereReply, error) {
	return wire.EncodePlace(s.tracker.Place()), nil
}

// close closes the environment when the host is done.
func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil
	}
	return s.current.Close()
}
