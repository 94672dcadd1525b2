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

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// policyServer serves a policy to the host.
type policyServer struct {
	*greeter
	build func(PolicySetup, json.RawMessage) (*actor, error)

	mu      sync.Mutex
	current *actor
}

// Describe implements the RPC.
func (s *policyServer) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	return s.describe(), nil
}

// Configure implements the RPC.
func (s *policyServer) Configure(_ context.Context, m *pb.PolicyRequest) (*pb.PolicyReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return nil, status.Error(codes.FailedPrecondition, "Configure must be called only once")
	}
	c, err := wire.DecodePolicyConfiguration(m)
	if err != nil {
		return wire.EncodePolicySpec(PolicySpec{}, err), nil
	}
	s.current, err = s.build(PolicySetup{
		Seed: c.Seed, Actions: c.Actions, FeatureShape: c.FeatureShape, Tools: c.Tools, Learn: c.Learn, Updates: c.Updates,
	}, c.Options)
	if err != nil {
		return wire.EncodePolicySpec(PolicySpec{}, err), nil
	}
	return wire.EncodePolicySpec(s.current.spec, nil), nil
}

func (s *policyServer) actor() (*actor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, errUnconfigured
	}
	return s.current, nil
}

// Act implements the RPC.
func (s *policyServer) Act(stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply]) error {
	a, err := s.actor()
	if err != nil {
		return err
	}
	p := newRequestPool(a, stream)
	defer p.close()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.handle(m)
	}
}

// Learn implements the RPC.
func (s *policyServer) Learn(stream grpc.ClientStreamingServer[pb.LearnRequest, pb.LearnReply]) error {
	a, err := s.actor()
	if err != nil {
		return err
	}
	var lesson wire.Lesson
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := lesson.Add(m); err != nil {
			return stream.SendAndClose(wire.EncodeLearned(Stats{}, 0, err))
		}
	}
	if err := lesson.End(); err != nil {
		return stream.SendAndClose(wire.EncodeLearned(Stats{}, 0, err))
	}
	stats, err := a.learn(stream.Context(), lesson.Sequences, lesson.Seed)
	return stream.SendAndClose(wire.EncodeLearned(stats, a.version.Load(), err))
}

// Publish implements the RPC.
func (s *policyServer) Publish(ctx context.Context, _ *pb.PublishRequest) (*pb.PublishReply, error) {
	a, err := s.actor()
	if err != nil {
		return nil, err
	}
	err = a.publish(ctx)
	return wire.EncodePublished(a.version.Load(), err), nil
}

// Save implements the RPC.
func (s *policyServer) Save(ctx context.Context, m *pb.SaveRequest) (*pb.SaveReply, error) {
	a, err := s.actor()
	if err != nil {
		return nil, err
	}
	if err := wire.CheckStateName(m.Name); err != nil {
		return wire.EncodeSaved(nil, err), nil
	}
	return wire.EncodeSaved(a.save(ctx, m.Name)), nil
}

// Load implements the RPC.
func (s *policyServer) Load(ctx context.Context, m *pb.LoadRequest) (*pb.LoadReply, error) {
	a, err := s.actor()
	if err != nil {
		return nil, err
	}
	err = a.load(ctx, m.State)
	return wire.EncodeLoaded(a.version.Load(), err), nil
}

// close closes the policy when the host is done.
func (s *policyServer) close() error {
	a, err := s.actor()
	if err != nil {
		return nil // no policy was configured
	}
	return a.close()
}
