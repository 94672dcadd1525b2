package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/sdk/plugin/proto"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// server answers the host. The environment is called under its lock only.
type server struct {
	pb.UnimplementedEnvironmentServer
	*greeter
	open func(Setup, json.RawMessage) (env.Env, error)

	mu      sync.Mutex
	current env.Env
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
	s.current = e
	return wire.EncodeSpec(e.Spec(), nil), nil
}

// Run implements the RPC. Messages and columns are used again and again: a
// batch that arrives proves that the reply before it has been read.
func (s *server) Run(stream pb.Environment_RunServer) error {
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
		if err := s.exchange(stream.Context(), &in, &out, &batch, &reply); err != nil {
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
		err = s.current.Exchange(ctx, batch, reply)
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

// close ends the environment when the host is done.
func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil
	}
	return s.current.Close()
}
