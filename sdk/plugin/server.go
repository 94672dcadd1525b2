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

// server answers the host. The environment is called under its lock only.
type server struct {
	pb.UnimplementedEnvironmentServer
	*greeter
	open func(Setup, json.RawMessage) (env.Env, error)

	mu      sync.Mutex
	current env.Env
	tracker track.Tracker // of the batch under way
	lane    *lane.Conn    // nil where batches come in Run
}

// stream is what batches come through: Run, or a lane.
type stream interface {
	RecvMsg(m any) error
	SendMsg(m any) error
}

var errUnconfigured = status.Error(codes.FailedPrecondition, "Configure comes first")

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
	reply.Lane = s.take(m.Lane)
	return reply, nil
}

// take takes a host's offer of a lane in the place of the one before. Where
// there is none, or none can be had, batches come in Run.
func (s *server) take(offer string) bool {
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
		_ = s.run(context.Background(), l) // what is wrong with the lane, the host sees at its end
		_ = l.Close()
	}()
	return true
}

// Run implements the RPC.
func (s *server) Run(stream grpc.BidiStreamingServer[pb.Batch, pb.BatchReply]) error {
	return s.run(stream.Context(), stream)
}

// run answers batches until no more come. Messages and columns are used again
// and again: a batch that arrives proves that the reply before it has been read.
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

// snapshotter is the environment, if its spec says that it is one.
func (s *server) snapshotter() (env.Snapshotter, error) {
	if s.current == nil {
		return nil, errUnconfigured
	}
	if e, ok := s.current.(env.Snapshotter); ok && s.current.Spec().Snapshots {
		return e, nil
	}
	return nil, status.Error(codes.Unimplemented, "the environment offers no snapshots")
}

// Where implements the RPC, without the lock that a batch holds.
func (s *server) Where(context.Context, *pb.WhereRequest) (*pb.WhereReply, error) {
	return wire.EncodePlace(s.tracker.Place()), nil
}

// close ends the environment when the host is done.
func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil
	}
	return s.current.Close()
}
